//! Calls with one argument that the contract does not allow. That each is refused with its error, whatever there is, is
//! for the conformance suite; here they meet every state, and must leave it as it is.

use std::sync::LazyLock;

use chokaq_tests::contract::{self, Parameter, Procedure};
use chokaq_tests::{Code, Value};

use crate::model::Model;
use crate::steps::{Pick, Wanted};
use crate::term::{Call, NULL, Term};

/// One bad argument; the rest of the call would be fine.
struct Bad {
    procedure: &'static Procedure,
    parameter: &'static str,
    value: Value,
}

static BAD: LazyLock<Vec<Bad>> = LazyLock::new(|| {
    let of = |procedure: &'static Procedure| {
        procedure.parameters.iter().flat_map(move |parameter| {
            bad(parameter).into_iter().map(move |value| Bad { procedure, parameter: &parameter.name, value })
        })
    };
    contract::PROCEDURES.iter().flat_map(of).collect()
});

fn bad(parameter: &Parameter) -> Vec<Value> {
    let set = |id: &str| Value::Set(vec![Some("j1".to_owned()), Some(id.to_owned())]);
    match &*parameter.name {
        "JobId" => vec!["".into(), " j1".into(), "j".repeat(51).into()],
        "Queue" | "Type" | "IdempotencyKey" => vec!["a\u{a0}".into(), "a".repeat(256).into()],
        "WorkerId" | "CreatedBy" | "MovedBy" | "ModifiedBy" | "ResurrectedBy" | "CancelledBy" | "PurgedBy" => {
            vec!["ann ".into(), "a".repeat(101).into()]
        }
        "Tags" | "NewTags" => vec!["x".repeat(1001).into()],
        "BatchSize" | "CleanupBatchSize" => vec![0.into(), 100_001.into()],
        "Limit" | "MaxBatches" | "MaxJobs" | "MaxAttempts" | "MaxJobAgeSeconds" => vec![0.into()],
        "FailureReason" => vec![12.into()],
        "DelaySeconds"
        | "RetryAfterSeconds"
        | "TimeoutSeconds"
        | "ResurrectCount"
        | "Attempt"
        | "MaxWorkers"
        | "ZombieTimeoutSeconds"
        | "BaseDelaySeconds"
        | "MaxDelaySeconds"
        | "JitterSeconds" => vec![(-1).into()],
        "BackoffMultiplier" => vec![0.5.into()],
        "Search" => vec!["".into()],
        "JobIds" => vec![set(""), set("j1 "), Value::Null],
        "Queues" => vec![set("")],
        "Jobs" => vec![Value::Null, serde_json::json!([{"queue": "a", "type": "t"}, {"colour": "red"}]).into()],
        _ => vec![],
    }
}

/// Given although they need not be: without them there would be nothing to do, or another error.
const GIVEN: [&str; 4] = ["Payload", "MaxAttempts", "FailureReason", "WhatIf"];

impl Model {
    pub fn invalid(&self, nth: usize) -> Call {
        let bad = &BAD[nth % BAD.len()];
        let given = |parameter: &'static Parameter| {
            if parameter.name == bad.parameter {
                Some(Term::Is(bad.value.clone()))
            } else {
                let is_given = parameter.default.is_none() || GIVEN.contains(&&*parameter.name);
                is_given.then(|| self.fine(&parameter.name, nth))
            }
        };
        let args = bad.procedure.parameters.iter().filter_map(|p| Some((&*p.name, given(p)?))).collect();
        Call::refused(&bad.procedure.name, args, Code::InvalidArgument, bad.parameter)
    }

    /// What would do something, if the call were taken.
    fn fine(&self, parameter: &str, nth: usize) -> Term {
        let some = [Wanted::Pending, Wanted::Processing, Wanted::Dead][nth % 3];
        let id = self.id(&Pick { wanted: some, nth: nth / 3 });
        match parameter {
            "JobId" => id.into(),
            "JobIds" => (&[id][..]).into(),
            "Queue" | "Type" => "a".into(),
            "WorkerId" => "w1".into(),
            "IsPaused" | "IsActive" => true.into(),
            "MaxWorkers" | "ZombieTimeoutSeconds" | "MaxAttempts" => 7.into(),
            "Payload" => "[]".into(),
            "WhatIf" => false.into(),
            "OlderThanUtc" => self.given(1000).into(),
            "Attempt" => 1.into(),
            "FailureReason" => 6.into(),
            "Jobs" => Term::Is(Value::Json(serde_json::json!([]))),
            "ErrorDetails" => NULL,
            _ => "ann".into(),
        }
    }
}
