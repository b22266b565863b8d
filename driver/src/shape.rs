//! How results are declared: a row names each column once, an outcome each of its words once.

/// A result row: a struct whose fields are read by the contract's column name and serialise under it.
macro_rules! row {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$field_meta:meta])* pub $field:ident: $kind:ty = $column:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, serde::Serialize)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[$field_meta])* #[serde(rename = $column)] pub $field: $kind,)+
        }

        impl $crate::value::FromRow for $name {
            fn from_row(row: &mut $crate::value::Row) -> std::result::Result<Self, $crate::value::ReadError> {
                Ok(Self { $($field: row.take($column)?,)+ })
            }
        }
    };
}

/// An outcome: the words that a procedure may answer with.
macro_rules! outcome {
    (
        $(#[$meta:meta])*
        pub enum $name:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$variant_meta])* #[serde(rename = $word)] $variant,)+
        }

        impl $name {
            /// The word as the procedure says it.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl $crate::value::FromValue for $name {
            fn from_value(value: $crate::value::Value) -> std::result::Result<Self, $crate::value::Value> {
                match &value {
                    $($crate::value::Value::Text(word) if word == $word => Ok(Self::$variant),)+
                    _ => Err(value),
                }
            }
        }
    };
}

pub(crate) use {outcome, row};
