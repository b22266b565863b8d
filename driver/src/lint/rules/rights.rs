//! What a PostgreSQL file says of who may do what.

use sqlparser::tokenizer::Token;

use super::{Faults, Rule, Scope, Subject};
use crate::config::Dialect;
use crate::lint::file::Module;
use crate::lint::tokens::{Tok, spelled};

const OF_POSTGRES: Scope = Scope::Object(Some(Dialect::Postgres));

pub(super) const SEARCH_PATH: Rule = Rule {
    name: "search-path",
    demand: "SECURITY DEFINER stands with SET search_path = pg_catalog, pg_temp; a public function has both, a looping \
             procedure neither: after each COMMIT but its last it sets the path of the transaction",
    reason: "Whoever may create an object in a schema of the search path could run code with the owner's rights, or with \
             those of the caller of a loop. A procedure that commits can have neither, so it works through a function \
             that has both.",
    scope: OF_POSTGRES,
    look: search_path,
};

pub(super) const CLOSED_TO_PUBLIC: Rule = Rule {
    name: "closed-to-public",
    demand: "The last statement is REVOKE ALL ON FUNCTION|PROCEDURE schema.object(...) FROM PUBLIC",
    reason: "PostgreSQL gives everybody EXECUTE on what is created, and for a moment would even between two files.",
    scope: OF_POSTGRES,
    look: closed_to_public,
};

pub(super) const COMMENT_ON: Rule = Rule {
    name: "comment-on",
    demand: "A public object has COMMENT ON FUNCTION|PROCEDURE schema.object(...)",
    reason: "PostgreSQL keeps no header: what stands in front of CREATE is not stored.",
    scope: OF_POSTGRES,
    look: comment_on,
};

fn search_path(it: &Subject<'_>, faults: &mut Faults) {
    let Some(module) = routine(it) else { return };
    let options = it.file.statements().into_iter().next().unwrap_or_default();
    let at = &it.file.code[module.from];
    let definer = options.windows(2).find(|pair| pair[0].is("SECURITY") && pair[1].is("DEFINER"));
    let path = options.windows(2).position(|pair| pair[0].is("SET") && pair[1].is("search_path"));
    let is_right = path.is_some_and(|i| {
        let rest = options.get(i + 2..i + 6).unwrap_or_default();
        matches!(&*spelled(rest).to_lowercase(), "=pg_catalog,pg_temp" | "topg_catalog,pg_temp")
            && options.get(i + 6).is_none_or(|next| next.token != Token::Comma)
    });
    let transaction = it.file.header.as_ref().map(|header| header.transaction());
    if transaction == Some("looping") {
        if definer.is_some() || options.windows(2).any(|pair| pair[0].is("SET") && pair[1].word().is_some()) {
            faults.at_token(at, "it is looping, and with SECURITY DEFINER or SET it could not commit; leave both out");
        }
        unpinned(it, faults);
    } else if let (Some(definer), false) = (definer, is_right) {
        faults.at_token(&definer[0], "SECURITY DEFINER without SET search_path = pg_catalog, pg_temp");
    } else if definer.is_none() && it.file.public().is_some() {
        faults.at_token(at, "it is public; write SECURITY DEFINER and SET search_path = pg_catalog, pg_temp");
    }
}

/// What follows a COMMIT, without white space.
const PIN: &str = ";PERFORMpg_catalog.set_config('search_path','pg_catalog, pg_temp',true);";

/// Transactions of a loop that begin with another statement; its last COMMIT gives the caller his path back.
fn unpinned(it: &Subject<'_>, faults: &mut Faults) {
    let body: Vec<Tok> = it.file.body().cloned().collect();
    for (i, tok) in body.iter().enumerate().filter(|(_, tok)| tok.is("COMMIT")) {
        let next = spelled(&body[i + 1..]);
        if !next.starts_with(PIN) && !next.eq_ignore_ascii_case(";END;") {
            let statement = "PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)";
            faults.at_token(tok, format!("COMMIT is neither the last statement nor followed by {statement}"));
        }
    }
}

fn closed_to_public(it: &Subject<'_>, faults: &mut Faults) {
    let Some(module) = routine(it) else { return };
    let is_closed = it.file.statements().last().is_some_and(|last| {
        let is_from_public = matches!(&last[..], [.., from, public] if from.is("FROM") && public.is("PUBLIC"));
        starts(last, &["REVOKE", "ALL", "ON"], module) && is_from_public
    });
    if !is_closed {
        let schema = module.schema.as_deref().unwrap_or("schema");
        let message =
            format!("the file must end with REVOKE ALL ON {} {schema}.{}(...) FROM PUBLIC;", module.kind, module.name);
        faults.at_token(&it.file.code[module.from], message);
    }
}

fn comment_on(it: &Subject<'_>, faults: &mut Faults) {
    let Some(module) = routine(it).filter(|_| it.file.public().is_some()) else { return };
    if !it.file.statements().iter().any(|statement| starts(statement, &["COMMENT", "ON"], module)) {
        let message = format!("it is public and has no COMMENT ON {} with its purpose", module.kind);
        faults.at_token(&it.file.code[module.from], message);
    }
}

fn routine<'a>(it: &Subject<'a>) -> Option<&'a Module> {
    it.file.module.as_ref().filter(|module| matches!(module.kind, "FUNCTION" | "PROCEDURE"))
}

/// The statement begins with these words, and with kind and name of the object.
fn starts(statement: &[Tok], words: &[&str], module: &Module) -> bool {
    let schema = module.schema.iter().map(|schema| format!("{schema}."));
    let name = format!("{}{}(", schema.collect::<String>(), module.name);
    let rest = statement.get(words.len() + 1..).unwrap_or_default();
    words.iter().chain([&module.kind]).zip(statement).all(|(word, tok)| tok.is(word))
        && spelled(rest).starts_with(&name)
}

#[cfg(test)]
mod tests {
    use crate::lint::rules::tests::{finds, passes};

    fn file(header: &str, kind: &str, options: &str) -> String {
        format!(
            "/*\na.x: x\n\n{header}\n*/\nCREATE OR REPLACE {kind} a.x(p_a int)\n{options}\nAS $$ BEGIN COMMIT; END; $$;
COMMENT ON {kind} a.x(int) IS 'X';\nREVOKE ALL ON {kind} a.x(int)\nFROM PUBLIC;\n"
        )
    }

    const PUBLIC: &str = "Transaction  joining\nGranted to   r";
    const DEFINER: &str = "SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off";

    #[test]
    fn a_search_path_stands_with_the_owners_rights() {
        for (header, options) in [
            (PUBLIC, DEFINER),
            (PUBLIC, "SET search_path TO pg_catalog, pg_temp SECURITY DEFINER"),
            ("Transaction  joining", "STABLE"),
            ("Transaction  looping: x\nGranted to   r", ""),
        ] {
            passes("postgres/x.sql", &file(header, "FUNCTION", options), "search-path");
        }
        for (header, options, fault) in [
            ("Errors       none", "SECURITY DEFINER", "7:1: SECURITY DEFINER without SET search_path"),
            (PUBLIC, "SECURITY DEFINER SET search_path = pg_catalog, pg_temp, a", "8:1: SECURITY DEFINER without"),
            (PUBLIC, "SECURITY DEFINER SET search_path = a, pg_catalog, pg_temp", "8:1: SECURITY DEFINER without"),
            (PUBLIC, "SET search_path = pg_catalog, pg_temp", "7:1: it is public"),
            ("Transaction  looping", DEFINER, "6:1: it is looping"),
            ("Transaction  looping", "SET jit = off", "6:1: it is looping"),
        ] {
            finds("postgres/x.sql", &file(header, "FUNCTION", options), "search-path", fault);
        }
    }

    #[test]
    fn each_transaction_of_a_loop_says_where_names_are_looked_up() {
        let good = file("Transaction  looping", "PROCEDURE", "").replace(
            "COMMIT;",
            "COMMIT; PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true); PERFORM 1; COMMIT;",
        );
        passes("postgres/x.sql", &good, "search-path");
        for bad in [
            good.replace("'pg_catalog, pg_temp'", "'public, pg_temp'"),
            good.replace(", true)", ", false)"),
            good.replace("PERFORM 1; COMMIT;", "COMMIT; PERFORM 1;"),
        ] {
            let found = crate::lint::rules::tests::found("postgres/x.sql", &bad, "search-path");
            assert!(found.len() == 1 && found[0].contains("COMMIT is neither the last"), "{found:?} in {bad}");
        }
    }

    #[test]
    fn the_last_word_is_that_the_public_may_not() {
        for kind in ["FUNCTION", "PROCEDURE"] {
            let good = file(PUBLIC, kind, DEFINER);
            passes("postgres/x.sql", &good, "closed-to-public");
            for bad in [
                good.replace("REVOKE ALL ON", "REVOKE EXECUTE ON"),
                good.replace("\nFROM PUBLIC", "\nFROM r"),
                good.replace(&format!("REVOKE ALL ON {kind} a.x"), &format!("REVOKE ALL ON {kind} a.y")),
                format!("{good}COMMENT ON {kind} a.x(int) IS 'Y';"),
            ] {
                finds("postgres/x.sql", &bad, "closed-to-public", "7:1: the file must end with REVOKE ALL ON");
            }
        }
    }

    #[test]
    fn what_is_public_is_commented() {
        let good = file(PUBLIC, "FUNCTION", DEFINER);
        passes("postgres/x.sql", &good, "comment-on");
        passes("postgres/x.sql", &file("Errors       none", "FUNCTION", "").replace("COMMENT", "REVOKE"), "comment-on");
        finds(
            "postgres/x.sql",
            &good.replace("COMMENT ON FUNCTION a.x", "COMMENT ON FUNCTION a.y"),
            "comment-on",
            "7:1: it is public",
        );
    }
}
