//! Properties over random values: some in every run of the tests, and new ones for as many seconds as
//! `CHOKAQ_FUZZ_SECONDS` says.

use std::cell::Cell;
use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{
    Config, FileFailurePersistence, RngAlgorithm, TestCaseResult, TestError, TestRng, TestRunner,
};

/// What has failed once, tried first ever after: a file for each target.
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/proptest-regressions/");

/// How many values are drawn between two looks at the clock.
const ROUND: u32 = 256;

/// Draws values until one has not the property, or so many (with a time given, until that is over) have it.
///
/// # Panics
/// With the smallest value found that has not the property, and the seed from which it came.
pub fn fuzz<S: Strategy>(target: &str, cases: u32, strategy: &S, property: impl Fn(S::Value) -> TestCaseResult) {
    let number = |variable: &str| -> Option<u64> {
        let text = std::env::var(variable).ok()?;
        Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
    };
    let seconds = number("CHOKAQ_FUZZ_SECONDS");
    let from_clock = || std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_micros() as u64);
    let seed = number("CHOKAQ_FUZZ_SEED").unwrap_or_else(from_clock);
    let kept: &'static str = format!("{KEPT}{target}.txt").leak();
    let until = seconds.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let mut rng = [0; 32];
    rng[..8].copy_from_slice(&seed.to_le_bytes());
    let mut rng = TestRng::from_seed(RngAlgorithm::ChaCha, &rng);
    let count = Cell::new(0_u64);
    loop {
        let config = Config {
            cases: if until.is_some() { ROUND } else { cases },
            failure_persistence: Some(Box::new(FileFailurePersistence::Direct(kept))),
            max_shrink_time: 60_000,
            // The strategies filter little; a long run all the same.
            max_global_rejects: u32::MAX,
            ..Config::default()
        };
        let mut runner = TestRunner::new_with_rng(config, rng.clone());
        rng = runner.new_rng();
        let result = runner.run(strategy, |value| {
            count.set(count.get() + 1);
            property(value)
        });
        match result {
            Ok(()) => {}
            Err(TestError::Fail(reason, value)) => panic!("{target}, CHOKAQ_FUZZ_SEED={seed}: {reason}\n{value:#?}"),
            Err(TestError::Abort(reason)) => panic!("{target}, CHOKAQ_FUZZ_SEED={seed}: {reason}"),
        }
        if until.is_none_or(|until| Instant::now() >= until) {
            break;
        }
    }
    println!("fuzz {target}: {} cases from CHOKAQ_FUZZ_SEED={seed}", count.get());
}
