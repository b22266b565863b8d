//! What a connection remembers of the calls that were said over it.

use std::borrow::Cow;
use std::sync::Arc;

use tokio_postgres::types::Type;
use tokio_postgres::{Client, Statement};

use super::{names, statement, type_of};
use crate::call::{Call, Procedure};
use crate::value::Argument;

/// As many calls are remembered; a call with other arguments is another one. Whoever says more of them in turn prepares
/// some again.
const KEPT: usize = 100;

/// The calls of one connection.
#[derive(Default)]
pub(super) struct Statements {
    known: Vec<Known>,
    said: u64,
}

/// A call that was said before.
pub(super) struct Known {
    procedure: &'static Procedure,
    arguments: Box<[(&'static str, Type)]>,
    /// The number of the call that said it last.
    last: u64,
    is_new: bool,
    prepared: Option<Prepared>,
    pub(super) sql: Box<str>,
}

/// A statement that the server keeps until this is dropped, and the contract's names of its columns.
#[derive(Clone)]
pub(super) struct Prepared {
    pub(super) statement: Statement,
    pub(super) columns: Arc<[String]>,
}

impl Statements {
    /// What is known of a call. (There are few and comparing them is cheap: a map would first have to read the names.)
    pub(super) fn of(&mut self, call: &Call<'_>, arguments: &[Cow<'_, Argument<'_>>]) -> &mut Known {
        self.said += 1;
        let position = self.known.iter().position(|known| known.is(call)).unwrap_or_else(|| {
            self.make_room();
            self.known.push(Known::new(call, arguments));
            self.known.len() - 1
        });
        let known = &mut self.known[position];
        known.last = self.said;
        known
    }

    /// Lets go of the call that was not said for longest.
    fn make_room(&mut self) {
        let oldest = self.known.iter().enumerate().min_by_key(|(_, known)| known.last).map(|(position, _)| position);
        if let (true, Some(oldest)) = (self.known.len() >= KEPT, oldest) {
            self.known.swap_remove(oldest);
        }
    }
}

impl Known {
    fn new(call: &Call<'_>, arguments: &[Cow<'_, Argument<'_>>]) -> Self {
        let names = call.arguments.iter().map(|(name, _)| *name);
        Self {
            procedure: call.procedure,
            arguments: names.zip(arguments.iter().map(|argument| type_of(argument))).collect(),
            last: 0,
            is_new: true,
            prepared: None,
            sql: statement(call).into(),
        }
    }

    /// Whether it is that call. An argument of a name has one type.
    fn is(&self, call: &Call<'_>) -> bool {
        std::ptr::eq(self.procedure, call.procedure)
            && self.arguments.len() == call.arguments.len()
            && self.arguments.iter().zip(&call.arguments).all(|((known, _), (name, _))| known == name)
    }

    /// The prepared statement; none the first time.
    pub(super) async fn prepared(&mut self, client: &Client) -> Result<Option<Prepared>, tokio_postgres::Error> {
        if std::mem::take(&mut self.is_new) {
            return Ok(None);
        }
        if self.prepared.is_none() {
            let types: Vec<Type> = self.arguments.iter().map(|(_, kind)| kind.clone()).collect();
            let statement = client.prepare_typed(&self.sql, &types).await?;
            self.prepared = Some(Prepared { columns: names(statement.columns()), statement });
        }
        Ok(self.prepared.clone())
    }

    /// The next time it is prepared anew.
    pub(super) fn forget(&mut self) {
        self.prepared = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call::procedures;
    use crate::postgres::storable;

    fn say(statements: &mut Statements, call: &Call<'_>) -> bool {
        let arguments = storable(call).unwrap();
        std::mem::take(&mut statements.of(call, &arguments).is_new)
    }

    #[test]
    fn a_call_is_known_by_its_procedure_and_the_names_of_its_arguments() {
        let mut statements = Statements::default();
        let get = |id| Call::new(procedures::GET_JOB).text("job_id", id);
        assert!(say(&mut statements, &get("a")));
        assert!(!say(&mut statements, &get("b")), "the value is no matter");
        assert!(say(&mut statements, &Call::new(procedures::GET_DLQ_JOB).text("job_id", "a")));
        assert!(say(&mut statements, &Call::new(procedures::LIST_DLQ).text("queue", "a")));
        assert!(say(&mut statements, &Call::new(procedures::LIST_DLQ).text("type", "a")));
        assert!(say(&mut statements, &Call::new(procedures::LIST_DLQ)));
    }

    #[test]
    fn the_call_that_was_not_said_for_longest_makes_room() {
        let mut statements = Statements::default();
        let calls: Vec<_> = procedures::ALL
            .iter()
            .flat_map(|procedure| [Call::new(procedure), Call::new(procedure).text("queue", "q")])
            .collect();
        let (first, others) = calls.split_first().unwrap();
        assert!(calls.len() >= KEPT);
        say(&mut statements, first);
        for call in others {
            say(&mut statements, call);
            assert!(!say(&mut statements, first), "it is said all the time");
        }
        let more = Call::new(procedures::GET_JOB).text("queue", "q").text("type", "t");
        say(&mut statements, &more);
        assert_eq!(statements.known.len(), KEPT);
        assert!(!say(&mut statements, &more));
        assert!(say(&mut statements, &others[0]), "it was forgotten");
    }
}
