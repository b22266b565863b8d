//! Whose transaction it is.

use sqlparser::tokenizer::Token;

use super::{Faults, Rule, Scope, Subject};
use crate::config::Dialect;
use crate::lint::tokens::Tok;

pub(super) const TRANSACTION: Rule = Rule {
    name: "transaction",
    demand: "T-SQL begins and ends a transaction only under IF @OwnsTransaction = 1 and keeps no savepoints; a public \
             procedure that is `joining` begins one when it is alone and catches, a `looping` one refuses one with 59010. \
             PL/pgSQL that is `looping` is a procedure and begins with COMMIT; nothing else commits",
    reason: "Only who began a transaction may end it. A ROLLBACK in a called procedure ends the caller's, and error 266 \
             hides why.",
    scope: Scope::Object(None),
    look,
};

fn look(it: &Subject<'_>, faults: &mut Faults) {
    match it.file.dialect {
        Dialect::Mssql => tsql(it, faults),
        Dialect::Postgres => postgres(it, faults),
    }
}

fn tsql(it: &Subject<'_>, faults: &mut Faults) {
    let code = &it.file.code;
    let mut ends_any = false;
    for (i, tok) in code.iter().enumerate() {
        let next = code.get(i + 1);
        let names_it = next.is_some_and(|next| next.is_any(&["TRANSACTION", "TRAN"]));
        let ends = names_it && tok.is_any(&["BEGIN", "COMMIT", "ROLLBACK"]);
        let ends_briefly = tok.is_any(&["COMMIT", "ROLLBACK"])
            && next.is_none_or(|next| next.token == Token::SemiColon || next.is("WORK"));
        ends_any |= ends;
        if names_it && tok.is("SAVE") {
            faults.at_token(tok, "a savepoint protects nothing under XACT_ABORT; do without");
        } else if ends_briefly {
            faults.at_token(tok, format!("write {} TRANSACTION, under IF @OwnsTransaction = 1", tok.token));
        } else if ends && !is_guarded(&code[..i]) {
            faults.at_token(
                tok,
                format!("{} TRANSACTION without IF @OwnsTransaction = 1: it may be the caller's", tok.token),
            );
        }
    }
    let (Some(header), Some(module)) = (it.file.public(), &it.file.module) else { return };
    let at = &code[module.from];
    let has = |word: &str| code.iter().any(|tok| tok.token.to_string().eq_ignore_ascii_case(word));
    match header.transaction() {
        "joining" if ends_any && !has("CATCH") => {
            faults.at_token(at, "it begins a transaction and does not catch what fails; write BEGIN CATCH");
        }
        "joining" if !ends_any && !delegates(code, module.schema.as_deref()) => {
            faults.at_token(at, "alone, it begins no transaction; write IF @OwnsTransaction = 1 BEGIN TRANSACTION");
        }
        "looping" if !has("59010") => {
            faults.at_token(
                at,
                "it commits batch by batch and must refuse a transaction: IF @@TRANCOUNT > 0 THROW 59010",
            );
        }
        _ => {}
    }
}

/// The nearest IF before demands that the transaction is its own.
fn is_guarded(before: &[Tok]) -> bool {
    let condition = before.iter().rposition(|tok| tok.is("IF")).map_or(&[][..], |from| &before[from..]);
    condition
        .windows(3)
        .any(|part| part[0].is("@OwnsTransaction") && part[1].token == Token::Eq && part[2].token.to_string() == "1")
}

/// It leaves the work to another procedure of its schema.
fn delegates(code: &[Tok], schema: Option<&str>) -> bool {
    code.windows(2).any(|pair| pair[0].is_any(&["EXECUTE", "EXEC"]) && schema.is_some_and(|schema| pair[1].is(schema)))
}

fn postgres(it: &Subject<'_>, faults: &mut Faults) {
    let Some(module) = &it.file.module else { return };
    let is_looping = it.file.header.as_ref().is_some_and(|header| header.transaction() == "looping");
    let body: Vec<&Tok> = it.file.body().collect();
    if is_looping {
        let first = body.iter().position(|tok| tok.is("BEGIN")).and_then(|begin| body.get(begin + 1));
        if module.kind != "PROCEDURE" || !first.is_some_and(|tok| tok.is("COMMIT")) {
            let message =
                "it is looping: write a PROCEDURE whose first statement is COMMIT, which a transaction block refuses";
            faults.at_token(&it.file.code[module.from], message);
        }
        return;
    }
    for (i, tok) in body.iter().enumerate().filter(|(_, tok)| tok.is_any(&["COMMIT", "ROLLBACK"])) {
        // A temporary table's ON COMMIT.
        if !i.checked_sub(1).is_some_and(|before| body[before].is("ON")) {
            faults.at_token(tok, format!("{}: only what its header calls looping may end a transaction", tok.token));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::lint::rules::tests::{finds, passes};

    fn tsql(transaction: &str, body: &str) -> String {
        format!(
            "/*\na.x: x\n\nTransaction  {transaction}\nGranted to   r\n*/\nCREATE OR ALTER PROCEDURE a.x AS\n{body}\n"
        )
    }

    #[test]
    fn t_sql_ends_only_a_transaction_of_its_own() {
        let own =
            "BEGIN TRY IF @OwnsTransaction = 1 BEGIN TRANSACTION; IF @OwnsTransaction = 1 AND 1 = 1 COMMIT TRANSACTION;
END TRY BEGIN CATCH IF @OwnsTransaction = 1 ROLLBACK TRANSACTION; THROW; END CATCH;";
        for (transaction, body) in [
            ("joining", own),
            ("joining; and more", "EXECUTE a.y;"),
            ("reading", "SELECT 1;"),
            ("looping: x", "IF @@TRANCOUNT > 0 THROW 59010, N'', 1;"),
        ] {
            passes("mssql/x.sql", &tsql(transaction, body), "transaction");
        }
        for (transaction, body, fault) in [
            ("joining", "SELECT 1;", "7:1: alone, it begins no transaction"),
            (
                "joining",
                "IF @OwnsTransaction = 1 BEGIN TRANSACTION;",
                "7:1: it begins a transaction and does not catch",
            ),
            ("looping", "SELECT 1;", "7:1: it commits batch by batch and must refuse"),
            ("reading", "IF @OwnsTransaction = 0 ROLLBACK TRANSACTION;", "8:25: ROLLBACK TRANSACTION without IF"),
            ("reading", "IF @OwnsTransaction = 1 SELECT 1; IF 1 = 1 BEGIN TRAN;", "8:44: BEGIN TRANSACTION without IF"),
            ("reading", "IF @OwnsTransaction = 1 COMMIT;", "8:25: write COMMIT TRANSACTION"),
            ("reading", "SAVE TRANSACTION s;", "8:1: a savepoint"),
        ] {
            finds("mssql/x.sql", &tsql(transaction, body), "transaction", fault);
        }
    }

    fn postgres(transaction: &str, kind: &str, body: &str) -> String {
        format!(
            "/*\na.x: x\n\nTransaction  {transaction}\n*/\nCREATE OR REPLACE {kind} a.x() AS $$ BEGIN\n{body}\nEND; $$;\n"
        )
    }

    #[test]
    fn only_a_looping_procedure_commits_in_pl_pgsql() {
        passes("postgres/x.sql", &postgres("looping", "PROCEDURE", "COMMIT; PERFORM 1; COMMIT;"), "transaction");
        passes(
            "postgres/x.sql",
            &postgres("joining", "FUNCTION", "CREATE TEMP TABLE t (a int) ON COMMIT DROP;"),
            "transaction",
        );
        for (transaction, kind, body, fault) in [
            ("looping", "PROCEDURE", "PERFORM 1; COMMIT;", "6:1: it is looping"),
            ("looping", "FUNCTION", "COMMIT;", "6:1: it is looping"),
            ("joining", "PROCEDURE", "ROLLBACK;", "7:1: ROLLBACK: only what its header calls looping"),
        ] {
            finds("postgres/x.sql", &postgres(transaction, kind, body), "transaction", fault);
        }
    }
}
