//! What can be checked without a database: that the files keep the rules of `chokaq lint`, that the reference has every
//! procedure, that the migrations are the sources, and that what was released stays as it is.

mod drift;
mod frozen;
mod guarantees;
mod lint;
mod reference;
mod released;
mod script;
mod source;
mod spelling;
