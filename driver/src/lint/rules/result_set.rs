//! A T-SQL procedure's result comes last.

use sqlparser::tokenizer::Token;

use super::{Faults, Rule, Scope, Subject};
use crate::config::Dialect;
use crate::lint::tokens::Tok;

pub(super) const RESULT_SET_LAST: Rule = Rule {
    name: "result-set-last",
    demand: "Behind a SELECT or an OUTPUT that sends rows only the ends of blocks, RETURN and other branches may follow; \
             none stands in a loop or in TRY",
    reason: "Who has read the rows believes that all went well, and many clients read no further: an error behind them \
             is lost.",
    scope: Scope::Object(Some(Dialect::Mssql)),
    look,
};

fn look(it: &Subject<'_>, faults: &mut Faults) {
    if it.file.module.as_ref().is_none_or(|module| module.kind != "PROCEDURE") {
        return;
    }
    let (_, body) = it.file.tsql_parts();
    // What stands in parentheses is a part of a statement.
    let flat = outside_parentheses(body);
    let mut blocks: Vec<Block> = Vec::new();
    let mut start = 0;
    for (i, tok) in flat.iter().enumerate() {
        if tok.token == Token::SemiColon || tok.is("ELSE") && blocks.last() != Some(&Block::Case) {
            start = i + 1;
        } else if begins_block(&flat, i) {
            let is_loop = flat[start..i].iter().any(|tok| tok.is("WHILE"));
            blocks.push(if is_loop { Block::Loop } else { Block::Plain });
            start = i + 1;
        } else if tok.is("CASE") {
            blocks.push(Block::Case);
        } else if tok.is("END") {
            // The END of a CASE ends no statement.
            if !matches!(blocks.pop(), Some(Block::Case)) {
                start = i + 1;
            }
        } else if sends_rows(&flat, start, i) {
            let is_in_loop = blocks.contains(&Block::Loop) || flat[start..i].iter().any(|tok| tok.is("WHILE"));
            match follower(&flat, i) {
                _ if is_in_loop => {
                    faults.at_token(tok, "rows are sent in a loop; gather them and send them once, at the end")
                }
                Some(next) => {
                    let message =
                        format!("rows are sent here and {} follows in line {}; send them last", next.token, next.line);
                    faults.at_token(tok, message);
                }
                None => {}
            }
        }
    }
}

#[derive(PartialEq, Eq)]
enum Block {
    Plain,
    Loop,
    Case,
}

fn outside_parentheses(body: &[Tok]) -> Vec<&Tok> {
    let mut depth = 0_usize;
    let is_outside = |tok: &&Tok| {
        match tok.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        false
    };
    body.iter().filter(is_outside).collect()
}

fn begins_block(flat: &[&Tok], i: usize) -> bool {
    flat[i].is("BEGIN") && !flat.get(i + 1).is_some_and(|next| next.is_any(&["TRAN", "TRANSACTION", "DISTRIBUTED"]))
}

/// True for a SELECT or OUTPUT of a statement whose rows go to the caller.
fn sends_rows(flat: &[&Tok], start: usize, i: usize) -> bool {
    let before = &flat[start..i];
    let has = |word: &str| before.iter().any(|tok| tok.is(word));
    if flat[i].is("SELECT") {
        let continues = before.last().is_some_and(|tok| tok.is_any(&["UNION", "ALL", "EXCEPT", "INTERSECT"]));
        return !(continues || has("INSERT") || has("CURSOR") || assigns(&flat[i + 1..]) || goes_into(&flat[i + 1..]));
    }
    // `@A INT OUTPUT` of a call is no clause.
    let is_clause = has("INSERT") || has("UPDATE") || has("DELETE") || has("MERGE");
    flat[i].is("OUTPUT") && is_clause && !has("EXECUTE") && !has("EXEC") && !goes_into(&flat[i + 1..])
}

/// `SELECT @a = ...`.
fn assigns(items: &[&Tok]) -> bool {
    let first = items
        .iter()
        .position(|tok| !tok.is_any(&["ALL", "DISTINCT", "TOP", "PERCENT"]) && !matches!(tok.token, Token::Number(..)));
    let Some(first) = first.filter(|first| items[*first].is_variable()) else { return false };
    // `+=` is one sign or two.
    let sign = items[first + 1..].iter().take(2).map(|tok| tok.token.to_string()).collect::<String>();
    sign.starts_with('=') || sign.get(1..2) == Some("=")
}

/// `INTO` before the clause or the statement ends.
fn goes_into(rest: &[&Tok]) -> bool {
    let ends = |tok: &&&Tok| tok.token == Token::SemiColon || tok.is_any(&["FROM", "WHERE", "VALUES", "SELECT"]);
    rest.iter().take_while(|tok| !ends(tok)).any(|tok| tok.is("INTO"))
}

/// What still happens behind the statement at `i`, whatever branch it is in.
fn follower<'a>(flat: &[&'a Tok], i: usize) -> Option<&'a Tok> {
    let mut next = i + flat[i..].iter().position(|tok| tok.token == Token::SemiColon)?;
    while let Some(tok) = flat.get(next) {
        if tok.is("RETURN") {
            return None;
        } else if tok.token == Token::SemiColon || tok.is("END") {
            next += 1;
        } else if tok.is("ELSE") {
            next = behind_branch(flat, next + 1);
        } else {
            return Some(tok);
        }
    }
    None
}

/// Where a branch ends: its statement, or its block.
fn behind_branch(flat: &[&Tok], from: usize) -> usize {
    let mut depth = 0_usize;
    for (i, tok) in flat.iter().enumerate().skip(from) {
        if tok.is("CASE") || begins_block(flat, i) {
            depth += 1;
        } else if tok.is("END") {
            depth = depth.saturating_sub(1);
        } else if tok.token == Token::SemiColon && depth == 0 {
            return i;
        }
    }
    flat.len()
}

#[cfg(test)]
mod tests {
    use crate::lint::rules::tests::{finds, passes};

    fn procedure(body: &str) -> String {
        format!("CREATE OR ALTER PROCEDURE a.x @A INT OUTPUT AS BEGIN\n{body}\nEND;\n")
    }

    #[test]
    fn rows_may_be_sent_at_the_end_and_of_each_branch() {
        for good in [
            "UPDATE a.b SET C = 1; SELECT C FROM a.b;",
            "IF @A = 1 BEGIN SELECT 1 AS A; RETURN; END; DELETE FROM a.b; SELECT 2 AS A;",
            "IF @A = 1 SELECT 1 AS A; ELSE IF @A = 2 BEGIN SELECT CASE WHEN 1 = 1 THEN 2 END AS A; END; ELSE SELECT 3 AS A;",
            "SELECT 1 AS A UNION ALL SELECT 2;",
            "WITH c AS (SELECT 1 AS A) SELECT A FROM c ORDER BY A OFFSET 0 ROWS;",
            "SELECT @A = 1; SELECT TOP (1) @A += C FROM a.b; SELECT C INTO #T FROM a.b; EXECUTE a.y @A = @A OUTPUT;",
            "INSERT INTO a.b (C) SELECT 1; DELETE FROM a.b OUTPUT deleted.C INTO @T (C) WHERE C = 1; SET @A = 1;",
            "INSERT INTO @T (C) EXECUTE a.y @B = @A OUTPUT; IF EXISTS (SELECT 1 FROM a.b) SET @A = CASE @A WHEN 1 THEN 2 END;",
            "BEGIN TRY SELECT @A = 1; END TRY BEGIN CATCH THROW; END CATCH; SELECT @A AS A;",
        ] {
            passes("mssql/x.sql", &procedure(good), "result-set-last");
        }
        passes(
            "mssql/x.sql",
            "CREATE OR ALTER FUNCTION a.x() RETURNS TABLE AS RETURN SELECT 1 AS A;",
            "result-set-last",
        );
    }

    #[test]
    fn what_follows_the_rows_is_found() {
        for (bad, fault) in [
            ("SELECT 1 AS A;\nDELETE FROM a.b;", "2:1: rows are sent here and DELETE follows in line 3"),
            ("SELECT @A AS A; SELECT 2 AS A;", "2:1: rows are sent here and SELECT follows"),
            (
                "BEGIN TRY SELECT 1 AS A; END TRY BEGIN CATCH THROW; END CATCH;",
                "2:11: rows are sent here and TRY follows",
            ),
            ("IF @A = 1 SELECT 1 AS A; ELSE SET @A = 1; SET @A = 2;", "2:11: rows are sent here and SET follows"),
            ("WHILE @A < 9 BEGIN SELECT 1 AS A; END;", "2:20: rows are sent in a loop"),
            ("WHILE @A < 9 SELECT 1 AS A;", "2:14: rows are sent in a loop"),
            (
                "WHILE @A < CASE WHEN 1 = 1 THEN 2 END BEGIN IF @A = 1 BEGIN SELECT 1 AS A; END; END;",
                "2:61: rows are sent in a loop",
            ),
            (
                "DELETE FROM a.b OUTPUT deleted.C WHERE C = 1; COMMIT TRANSACTION;",
                "2:17: rows are sent here and COMMIT follows",
            ),
            (
                "UPDATE a.b SET C = CASE WHEN 1 = 1 THEN 1 ELSE 2 END OUTPUT inserted.C; SET @A = 1;",
                "2:54: rows are sent here and SET follows",
            ),
        ] {
            finds("mssql/x.sql", &procedure(bad), "result-set-last", fault);
        }
    }
}
