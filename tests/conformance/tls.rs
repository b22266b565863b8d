//! TLS with certificates of the case's own: which servers are believed, and what those that are not get to see.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};
use chokaq::{Client, ErrorKind};
use chokaq_tests::server::cluster::{Cluster, Stop};
use chokaq_tests::{Db, Engine, Result, Scenario, scenario, until};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use time::{Duration, OffsetDateTime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::program::run;
use crate::secrets::is_kept;

/// Not that of `secrets`, which listens to all that is said in this process, such as that it is given to a role here.
const PASSWORD: &str = "Calm4712Calm";
const PART: &str = "Calm";

pub const SCENARIOS: &[Scenario] = &[
    scenario!(a_server_is_believed_by_its_certificate_alone).limit(std::time::Duration::from_secs(300)).on_a_cluster(),
    scenario!(a_password_is_sent_to_no_server_without_tls),
];

/// Who signs certificates.
struct Authority {
    file: PathBuf,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(folder: &Path, name: &str) -> Result<Self> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(Vec::new())?;
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let file = folder.join(format!("{name}.pem"));
        std::fs::write(&file, params.self_signed(&key)?.pem())?;
        Ok(Self { file, issuer: Issuer::new(params, key) })
    }

    /// A certificate and its key.
    fn sign(&self, host: &str, until: OffsetDateTime) -> Result<[String; 2]> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new([host.to_owned()])?;
        params.distinguished_name.push(DnType::CommonName, "server");
        params.not_before = until - Duration::days(30);
        params.not_after = until;
        Ok([params.signed_by(&key, &self.issuer)?.pem(), key.serialize_pem()])
    }
}

/// A server that can show one certificate after the other, and asks for passwords.
struct Server {
    engine: Engine,
    cluster: Cluster,
    shown: usize,
}

impl Server {
    async fn start(engine: Engine) -> Result<Self> {
        let cluster = Cluster::start_bare(engine, &[]).await?;
        let admin = cluster.admin().await?;
        if engine == Engine::Postgres {
            admin.batch(&format!("CREATE ROLE app LOGIN PASSWORD '{PASSWORD}'")).await?;
            let lines = "('local all all trust'), ('host all tester all trust'), ('host all all all scram-sha-256')";
            admin.batch(&format!("COPY (VALUES {lines}) TO PROGRAM 'cat > pg_hba.conf'")).await?;
        }
        Ok(Self { engine, cluster, shown: 0 })
    }

    /// From now on it shows that certificate.
    async fn show(&mut self, certificate: [String; 2]) -> Result<()> {
        self.shown += 1;
        let name = format!("server{}", self.shown);
        let admin = self.cluster.admin().await?;
        for (text, kind) in certificate.iter().zip(["crt", "key"]) {
            let lines = format!("SELECT regexp_split_to_table('{}', '\n')", text.trim().replace('\r', ""));
            admin.batch(&format!("COPY ({lines}) TO PROGRAM 'umask 077 && cat > {name}.{kind}'")).await?;
            let file = if kind == "crt" { "ssl_cert_file" } else { "ssl_key_file" };
            admin.batch(&format!("ALTER SYSTEM SET {file} = '{name}.{kind}'")).await?;
        }
        admin.batch("ALTER SYSTEM SET ssl = on").await?;
        if self.engine == Engine::Mssql {
            /* The TDS listener reads them when it starts. */
            self.cluster.stop(Stop::Immediate)?;
            return self.cluster.start_again().await;
        }
        admin.batch("SELECT pg_reload_conf()").await?;
        until("the certificate is shown", async || {
            let file = "SELECT current_setting('ssl_cert_file') AS file";
            let shown = self.cluster.admin().await?.query(file, &[]).await?.one().text("File");
            Ok((shown == format!("{name}.crt")).then_some(()))
        })
        .await
    }

    /// A URL without a word of TLS. PostgreSQL's has the address beside the host; over TDS there are two names for it.
    fn url(&self, host: &str, password: &str) -> Result<String> {
        let port = self.cluster.port()?;
        Ok(match self.engine {
            Engine::Postgres => format!("postgres://app:{password}@{host}:{port}/postgres?hostaddr=127.0.0.1"),
            Engine::Mssql => format!("mssql://tester:{password}@{host}:{port}/master?"),
        })
    }

    /// The name in its certificates, and another one.
    fn hosts(&self) -> [&'static str; 2] {
        match self.engine {
            Engine::Postgres => [NAME, "elsewhere.example"],
            Engine::Mssql => ["127.0.0.1", "localhost"],
        }
    }

    fn trusting(&self, authority: &Authority, host: &str) -> Result<String> {
        let parameter = match self.engine {
            Engine::Postgres => "sslrootcert",
            Engine::Mssql => "trust_server_certificate_ca",
        };
        Ok(format!("{}&{parameter}={}", self.url(host, self.password())?, authority.file.display()))
    }

    fn password(&self) -> &'static str {
        match self.engine {
            Engine::Postgres => PASSWORD,
            Engine::Mssql => "tester",
        }
    }
}

const NAME: &str = "db.example";

/// (On the heap: the futures of all of them together are too much for the stack of a debug build.)
async fn connected(url: &str) -> chokaq::Result<Client> {
    Box::pin(Client::connect(url)).await
}

/// Nothing is connected, for that reason.
async fn refused(url: &str, reasons: &[&str]) -> Result<()> {
    let error = connected(url).await.err().with_context(|| format!("connected, not {reasons:?}"))?;
    ensure!(reasons.iter().any(|reason| error.message().contains(reason)), "{reasons:?}: {error:?}");
    ensure!([ErrorKind::Connection, ErrorKind::Configuration].contains(&error.kind()), "{error:?}");
    is_kept(PART, &error)
}

async fn a_server_is_believed_by_its_certificate_alone(db: &Db<'_>) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let [ours, other] = ["ours", "other"].map(|name| Authority::new(folder.path(), name));
    let (ours, other) = (ours?, other?);
    let later = OffsetDateTime::now_utc() + Duration::days(10);
    let mut server = Box::pin(Server::start(db.engine)).await?;
    let [host, elsewhere] = server.hosts();
    let silent = server.url(host, server.password())?;

    refused(&server.trusting(&ours, host)?, &["does not support TLS", "does not allow the requested encryption"])
        .await?;
    Box::pin(server.show(ours.sign(host, later)?)).await?;
    let client = connected(&server.trusting(&ours, host)?).await.context("our certificate")?;
    let admin = server.cluster.admin().await?;
    let encrypted = admin.query("SELECT count(*) AS n FROM pg_stat_ssl WHERE ssl", &[]).await?.one().int("N");
    assert_eq!(encrypted, 1, "the connection is encrypted");
    drop((client, admin));
    let unknown = ["UnknownIssuer", "no certificate authority is trusted"];
    refused(&silent, &unknown).await?;
    refused(&server.trusting(&other, host)?, &unknown).await?;
    let told = run(Some(&server.trusting(&other, host)?), &["stats"]).await?;
    assert_eq!(told.code, Some(2), "{}", told.stderr);
    assert!(told.stderr.contains("hint:") && told.stderr.contains("trust_server_certificate"), "{}", told.stderr);
    refused(&server.trusting(&ours, elsewhere)?, &["not valid for name", "NotValidForName"]).await?;

    let plain = if db.engine == Engine::Postgres { "sslmode=disable" } else { "encrypt=false" };
    connected(&format!("{silent}&{plain}")).await?;
    if db.engine == Engine::Postgres {
        /* A new Babelfish takes any password. */
        let wrong = server.url(host, &format!("not{PASSWORD}"))?;
        refused(&format!("{wrong}&{plain}"), &["password authentication failed"]).await?;
    }

    Box::pin(server.show(ours.sign(host, OffsetDateTime::now_utc() - Duration::days(1))?)).await?;
    refused(&server.trusting(&ours, host)?, &["expired", "Expired"]).await?;
    connected(&format!("{silent}&trust_server_certificate=true")).await?;
    Ok(())
}

/// What TDS says of a version and of encryption: that it has none.
const NO_TLS_OVER_TDS: &[u8] = &[4, 1, 0, 26, 0, 0, 1, 0, 0, 0, 11, 0, 6, 1, 0, 17, 0, 1, 255, 15, 0, 0, 0, 0, 0, 2];

async fn a_password_is_sent_to_no_server_without_tls(db: &Db<'_>) -> Result<()> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    let port = listener.local_addr()?.port();
    let (url, no) = match db.engine {
        Engine::Postgres => {
            (format!("postgres://app:{PASSWORD}@{NAME}:{port}/shop?hostaddr=127.0.0.1&sslmode=require"), &b"N"[..])
        }
        Engine::Mssql => (format!("mssql://app:{PASSWORD}@127.0.0.1:{port}/shop"), NO_TLS_OVER_TDS),
    };
    /* One that has no TLS, and one that says it has and goes on in something else. */
    for answer in [no, &[b'S'; 64]] {
        let server = async {
            let (mut connection, _) = listener.accept().await?;
            let mut heard = vec![0; 1 << 16];
            let mut length = connection.read(&mut heard).await?;
            connection.write_all(answer).await?;
            connection.shutdown().await?;
            loop {
                match connection.read(&mut heard[length..]).await {
                    Ok(0) | Err(_) => break,
                    Ok(more) => length += more,
                }
            }
            heard.truncate(length);
            Ok::<_, anyhow::Error>(heard)
        };
        let (error, heard) = tokio::join!(Client::connect(&url), server);
        is_kept(PART, &error.err().context("it is no server")?)?;
        let heard = heard?;
        ensure!(!heard.is_empty());
        if answer == no {
            /* Eight bytes ask for TLS; over TDS it is the one packet that comes before a login. */
            let asked = if db.engine == Engine::Postgres {
                heard.len() == 8
            } else {
                heard[0] == 18 && heard[3] as usize == heard.len()
            };
            ensure!(asked, "{heard:?}");
        }
        ensure!(!heard.windows(4).any(|part| PASSWORD.as_bytes().starts_with(part)), "{heard:?}");
    }
    Ok(())
}
