//! What a run has not, and which cases are skipped for it.

use crate::install::Install;
use crate::server::mssql::Source;
use crate::server::{cluster, postgres};
use crate::session::Engine;

/// What a case needs beside a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It puts files into a folder of PostgreSQL.
    Extensions,
    /// It is about what `migrate up` made, and may not be over an extension.
    Deployment,
    /// It starts a server of its own.
    Cluster,
    /// It starts one with a file system of its own.
    SmallDisk,
}

type Why = Option<&'static str>;

/// Why there is none of it.
pub struct Lacks {
    mssql: Why,
    extensions: Why,
    deployments: Why,
    postgres_clusters: Why,
    mssql_clusters: Why,
    small_disks: Why,
}

impl Lacks {
    pub fn find(source: &Source) -> Self {
        let required = std::env::var("CHOKAQ_REQUIRE_MSSQL").is_ok_and(|value| value == "1");
        let is_extension = matches!(Install::chosen(), Ok(Install::Extension));
        Self {
            mssql: match source {
                Source::Nothing(why) if !required => Some(why),
                _ => None,
            },
            extensions: postgres::no_extensions(),
            deployments: is_extension.then_some("the databases of this run have the extension"),
            postgres_clusters: postgres::is_given().then_some("CHOKAQ_TEST_POSTGRES_URL is not the suite's to stop"),
            mssql_clusters: match source {
                Source::Url(_) => Some("CHOKAQ_TEST_MSSQL_URL is not the suite's to stop"),
                Source::Docker => Some("only a Babelfish is stopped hard, no container"),
                Source::Babelfish(_) | Source::Nothing(_) => None,
            },
            small_disks: cluster::no_small_disk(),
        }
    }

    /// Why such a case cannot run there.
    pub fn reason(&self, engine: Engine, need: Option<Need>) -> Why {
        let (on_engine, clusters) = match engine {
            Engine::Postgres => (None, self.postgres_clusters),
            Engine::Mssql => (self.mssql, self.mssql_clusters),
        };
        let of_need = need.and_then(|need| match need {
            /* Of PostgreSQL alone. */
            Need::Extensions => self.extensions,
            Need::Deployment => self.deployments.filter(|_| engine == Engine::Postgres),
            Need::Cluster => clusters,
            Need::SmallDisk => clusters.or(self.small_disks),
        });
        on_engine.or(of_need)
    }

    /// What is missing, and why.
    pub fn told(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let all = [
            ("mssql", self.mssql),
            ("extensions", self.extensions),
            ("deployments", self.deployments),
            ("clusters of PostgreSQL", self.postgres_clusters),
            ("clusters of T-SQL", self.mssql_clusters),
            ("small disks", self.small_disks),
        ];
        all.into_iter().filter_map(|(what, why)| Some((what, why?)))
    }
}
