//! What can be checked without a database: that the twins and the reference agree, that the files keep the house style,
//! that the migrations are the sources, and that what was released stays as it is.

mod drift;
mod frozen;
mod reference;
mod source;
mod style;
mod twins;
