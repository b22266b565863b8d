//! Who is acting: the name that the operator history records.

use clap::Args;

use super::failure::Failure;

/// The name of the operator.
#[derive(Debug, Args)]
pub struct Operator {
    /// Who does this, for the operator history [default: your account on this machine]
    #[arg(
        long,
        value_name = "NAME",
        env = "CHOKAQ_OPERATOR",
        hide_env_values = true,
        aliases = ["cancelled-by", "modified-by", "moved-by", "purged-by", "resurrected-by"]
    )]
    by: Option<String>,
}

impl Operator {
    /// The given name, else the account's.
    pub fn name(self) -> Result<String, Failure> {
        self.by.or_else(account).ok_or_else(|| {
            Failure::new("the operator history needs a name, and this account has none")
                .hint("name yourself with --by or CHOKAQ_OPERATOR")
        })
    }
}

#[cfg(unix)]
fn account() -> Option<String> {
    use nix::unistd::{User, geteuid};
    User::from_uid(geteuid()).ok().flatten().map(|user| user.name)
}

#[cfg(not(unix))]
fn account() -> Option<String> {
    std::env::var("USERNAME").ok()
}
