//! Whatever the arguments are, they are read, or refused with exit code 2, and no password is shown.

use std::ffi::OsString;

use clap::CommandFactory;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::{Cli, arguments, parse};
use crate::fuzz::fuzz;

/// The password of every URL: letters that stand nowhere else.
const SECRET: &str = "qzxjvk";

/// What options take, nearly take and do not take.
#[rustfmt::skip]
const VALUES: &[&str] = &[
    "", "-", "--", "=", "a", "a b", "-1", "0", "1", "2147483647", "2147483648", "9223372036854775808", "1e400", "NaN", "inf",
    "0.5", "none", "NONE", "300s", "300", "1h 30m", "18446744073709551615y", "99999999999999999999s", "1ns", "-5s",
    "2026-01-31T08:00:00Z", "9999-12-31T23:59:59-14:00", "0000-01-01T00:00:00+14:00", "-9999-01-01T00:00:00Z",
    "2026-01-31", "yesterday", "FatalError", "6", "12", "Zombie", "true", "false", "{}", "{", "[\"a\"]", "\u{1b}[31m", "🙂",
    "'; DROP TABLE x; --", "\u{ff07}", "\n", "\u{feff}", "%s%n", "../../etc/passwd", "mssql", "postgres", "bash", "201..204",
];

/// Every word that the program knows: commands, options in both lengths, their aliases.
fn words() -> Vec<String> {
    fn collect(command: &clap::Command, words: &mut Vec<String>) {
        words.push(command.get_name().to_owned());
        words.extend(command.get_all_aliases().map(str::to_owned));
        for argument in command.get_arguments() {
            words.extend(argument.get_long_and_visible_aliases().into_iter().flatten().map(|it| format!("--{it}")));
            words.extend(argument.get_all_aliases().into_iter().flatten().map(|it| format!("--{it}")));
            words.extend(argument.get_short().map(|it| format!("-{it}")));
        }
        command.get_subcommands().for_each(|it| collect(it, words));
    }
    let mut words = Vec::new();
    collect(&Cli::command(), &mut words);
    words
}

/// The commands that do something, as they are typed, each with the options that it has.
fn verbs() -> Vec<(Vec<String>, Vec<String>)> {
    fn collect(command: &clap::Command, path: &[String], verbs: &mut Vec<(Vec<String>, Vec<String>)>) {
        let options = command.get_arguments().filter_map(|it| it.get_long()).map(|it| format!("--{it}"));
        verbs.push((path.to_vec(), options.collect()));
        for inner in command.get_subcommands() {
            collect(inner, &[path, &[inner.get_name().to_owned()]].concat(), verbs);
        }
    }
    let mut verbs = Vec::new();
    collect(&Cli::command(), &[], &mut verbs);
    verbs
}

fn value() -> impl Strategy<Value = String> {
    let secret =
        (select(&["postgres://u:", "mssql://u:", "Server=db;Password=", "x;pwd=", "a://"][..]), "[@:/#?;]{0,2}")
            .prop_map(|(before, mark)| format!("{before}{mark}{SECRET}@db/shop"));
    prop_oneof![6 => select(VALUES).prop_map(str::to_owned), 2 => any::<String>(), 2 => secret]
}

/// A verb with its own options, or anything at all; some of it not UTF-8.
fn arguments() -> impl Strategy<Value = Vec<OsString>> {
    let sensible = select(verbs()).prop_flat_map(|(path, options)| {
        let option = match options.is_empty() {
            true => value().boxed(),
            false => prop_oneof![
                (select(options.clone()), value()).prop_map(|(option, value)| format!("{option}={value}")),
                select(options),
                value(),
            ]
            .boxed(),
        };
        vec(option, 0..6).prop_map(move |more| [path.clone(), more].concat())
    });
    let wild = vec(prop_oneof![3 => select(words()), 2 => value()], 0..10);
    (prop_oneof![3 => sensible, 1 => wild], any::<bool>()).prop_map(|(arguments, is_broken)| {
        let mut arguments: Vec<OsString> = ["chokaq".to_owned()].into_iter().chain(arguments).map(Into::into).collect();
        if let Some(last) = arguments.last_mut().filter(|_| is_broken) {
            last.push(broken());
        }
        arguments
    })
}

/// What no text is.
#[cfg(unix)]
fn broken() -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(vec![0xff])
}

#[cfg(not(unix))]
fn broken() -> OsString {
    OsString::new()
}

#[test]
fn fuzz_any_arguments_are_read_or_refused() {
    fuzz("arguments", 200, &arguments(), |arguments| {
        if let Err(error) = arguments::read(arguments.clone()) {
            prop_assert!([0, 2].contains(&error.exit_code()), "{:?}", &arguments);
            let said = format!("{error} {error:?} {}", error.render().ansi());
            prop_assert!(!said.contains(SECRET), "{:?}: {}", &arguments, said);
        }
        Ok(())
    });
}

/// A list of ids is read as what it is, or refused.
#[test]
fn fuzz_any_list_of_ids_is_read_or_refused() {
    let text = vec(
        prop_oneof![3 => select(&["\n", "\r\n", "{", "}", "[", "]", "\"", ",", "{\"JobId\":\"a\"}", "\u{feff}", "\\u0000", "a"][..])
        .prop_map(str::to_owned), 1 => any::<String>()],
        0..20,
    );
    fuzz("ids", 200, &(text, vec("[^\r\n\u{feff}{\\[ \t]{1,20}", 0..5)), |(scraps, ids)| {
        let _ = parse::ids(&scraps.concat());
        prop_assert_eq!(parse::ids(&ids.join("\n")), Ok(ids.clone()));
        prop_assert_eq!(parse::ids(&serde_json::json!(ids).to_string()), Ok(ids));
        Ok(())
    });
}
