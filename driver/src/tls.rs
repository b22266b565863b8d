//! TLS towards PostgreSQL. (TDS brings its own.)

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::config::{Certificate, PostgresTarget};
use crate::error::{Error, ErrorKind, Result};

/// Reads the trusted certificates, once for all connections to this target.
pub(crate) fn connector(target: &PostgresTarget) -> Result<MakeRustlsConnect> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable("TLS cannot be set up").with_source(error))?;
    let config = if target.certificate == Certificate::Any {
        builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(provider))).with_no_client_auth()
    } else if target.config.get_ssl_mode() == SslMode::Disable {
        builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth()
    } else {
        builder.with_root_certificates(roots(target.root_file.as_deref())?).with_no_client_auth()
    };
    Ok(MakeRustlsConnect::new(config))
}

fn roots(file: Option<&Path>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    // The system's store may hold some that cannot be read; the others still count.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if let Some(path) = file {
        let told = |what: &str| unusable(format!("{what} the certificates in {} (sslrootcert)", path.display()));
        let reader = BufReader::new(File::open(path).map_err(|error| told("cannot open").with_source(error))?);
        for certificate in CertificateDer::pem_reader_iter(reader) {
            let certificate = certificate.map_err(|error| told("cannot read").with_source(error))?;
            roots.add(certificate).map_err(|error| told("cannot use").with_source(error))?;
        }
    }
    if roots.is_empty() {
        return Err(unusable(
            "no certificate authority is trusted: the system has none, and the URL gives no sslrootcert",
        ));
    }
    Ok(roots)
}

fn unusable(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Configuration, message)
}

/// Takes any certificate, but only from a server that has its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
