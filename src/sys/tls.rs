//! Encryption for HTTPS upstreams.

/// Chooses the library that encrypts; to be called before an HTTP client is built.
pub fn prepare_tls() {
    // An error means that it was chosen before.
    let _chosen_before = rustls::crypto::ring::default_provider().install_default();
}
