//! The values that the contract numbers or names.

use serde::Serialize;

use crate::shape::outcome;
use crate::value::{FromValue, Value};

/// A numbered list of the contract: serialises as its number, shows and parses as its name.
macro_rules! numbered {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$variant_meta:meta])* $variant:ident = $number:literal,)+ }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(into = "i16")]
        #[non_exhaustive]
        pub enum $name { $($(#[$variant_meta])* $variant = $number,)+ }

        impl $name {
            /// All of them, by number.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// Its name in the contract.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => stringify!($variant),)+ }
            }
        }

        impl From<$name> for i16 {
            fn from(value: $name) -> Self {
                value as i16
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromValue for $name {
            fn from_value(value: Value) -> Result<Self, Value> {
                match value {
                    $(Value::Int($number) => Ok(Self::$variant),)+
                    other => Err(other),
                }
            }
        }
    };
}

numbered! {
    /// Why a job is in the DLQ.
    pub enum FailureReason {
        /// The queue's MaxAttempts executions have started.
        MaxRetriesExceeded = 0,
        /// Cancelled by an operator or by the worker.
        Cancelled = 1,
        /// It stayed in Processing without a heartbeat.
        Zombie = 2,
        /// A circuit breaker kept it from running.
        CircuitBreakerOpen = 3,
        /// The worker refused it; never retried.
        Rejected = 4,
        /// A limit of something it calls.
        Throttled = 5,
        /// It can never succeed as it is; never retried.
        FatalError = 6,
        /// It ran too long.
        Timeout = 7,
        /// Expected to pass by itself.
        Transient = 8,
        /// The worker could not keep it alive.
        HeartbeatFailure = 9,
        /// The next run would have passed the queue's MaxJobAgeSeconds.
        RetryLifetimeExpired = 10,
        /// Nothing above.
        Unknown = 11,
    }
}

numbered! {
    /// Where a job in JobsHot stands.
    pub enum JobStatus {
        /// Waits for its turn or its time.
        Pending = 0,
        /// Claimed by a worker, not started.
        Fetched = 1,
        /// Running; its attempt is counted.
        Processing = 2,
    }
}

outcome! {
    /// The table that a job is in: exactly one of three.
    pub enum Pillar {
        /// JobsHot: waiting or running.
        Hot = "Hot",
        /// JobsArchive: succeeded.
        Archive = "Archive",
        /// JobsDLQ: failed for good, until an operator resurrects it.
        Dlq = "DLQ",
    }
}

/// The text is not the name or number of a [`FailureReason`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no failure reason is called {0:?}")]
pub struct UnknownFailureReason(String);

impl std::str::FromStr for FailureReason {
    type Err = UnknownFailureReason;

    /// Takes the name in any case, or the number.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .iter()
            .copied()
            .find(|reason| reason.name().eq_ignore_ascii_case(text) || i16::from(*reason).to_string() == text)
            .ok_or_else(|| UnknownFailureReason(text.to_owned()))
    }
}
