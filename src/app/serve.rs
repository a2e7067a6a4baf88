//! The gateway behind HTTP.

use std::net::SocketAddr;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use super::running::{AppError, Running, Start, system};
use super::signals::Signals;
use crate::config::Folders;
use crate::http::{Access, Front, new_secret, serve};
use crate::sys::{create_private_folder, write_private_file};

/// What the running gateway leaves for the command line, in a private file.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct GatewayFile {
    /// Its process.
    pub pid: u32,
    /// Its address.
    pub address: SocketAddr,
}

/// What is told once the gateway listens.
#[derive(Clone, Debug)]
pub struct Listening {
    /// The address.
    pub address: SocketAddr,
    /// The token that clients have to send, when one is required.
    pub token: Option<String>,
}

/// Serves HTTP on `address` until the program is asked to end. `started` is
/// called once the gateway listens.
pub async fn serve_http(
    start: Start<'_>,
    address: SocketAddr,
    is_open: bool,
    started: impl FnOnce(&Listening),
) -> Result<(), AppError> {
    // First of all, so that a signal during the start ends everything in order.
    let mut signals = Signals::listen().map_err(|source| system("listening to signals", source))?;
    let folders = start.config.folders.clone();
    let folder = &folders.data;
    create_private_folder(folder)
        .map_err(|source| AppError::Folder { path: folder.clone(), source })?;
    let token = if is_open { None } else { Some(token(&folders)?) };
    // Listening first: a second gateway on the port must not start any server.
    let listener = TcpListener::bind(address).await.map_err(|source| AppError::System {
        what: format!("listening on {address}; `--port` chooses another port"),
        source,
    })?;
    let address = listener.local_addr().unwrap_or(address);
    let running = Running::start(start)?;
    let file = folders.gateway();
    note_gateway(&file, address);
    let front = Front::new(running.gateway.clone(), running.tasks.clone());
    running.tasks.spawn(front.clone().sweep(running.stop.clone()));
    let access = Access::new(token.clone(), address.ip());
    let serving = running.tasks.spawn(serve(listener, front, access, running.stop.clone()));
    started(&Listening { address, token });
    let ended = tokio::select! {
        served = serving => served.map_err(std::io::Error::other).and_then(|served| served),
        () = signals.asked_to_end() => Ok(()),
    };
    forget_gateway(&file);
    running.shut_down().await;
    ended.map_err(|source| system("serving HTTP", source))
}

/// The token of the data folder, made at first use.
fn token(folders: &Folders) -> Result<String, AppError> {
    let path = folders.token();
    if let Ok(text) = std::fs::read_to_string(&path)
        && text.trim().len() >= 32
    {
        return Ok(text.trim().to_owned());
    }
    let failed = |source| AppError::System {
        what: format!("writing the token `{}`", path.display()),
        source,
    };
    let token = new_secret().map_err(|error| failed(std::io::Error::other(error.to_string())))?;
    write_private_file(&path, token.as_bytes()).map_err(failed)?;
    Ok(token)
}

fn note_gateway(path: &Path, address: SocketAddr) {
    let file = GatewayFile { pid: std::process::id(), address };
    let written = serde_json::to_vec(&file)
        .map_err(std::io::Error::other)
        .and_then(|text| write_private_file(path, &text));
    if let Err(error) = written {
        tracing::warn!(%error, "the command line will not find this gateway");
    }
}

/// Removes the file unless another gateway has written its own.
fn forget_gateway(path: &Path) {
    let is_own = std::fs::read(path)
        .ok()
        .and_then(|text| serde_json::from_slice::<GatewayFile>(&text).ok())
        .is_some_and(|file| file.pid == std::process::id());
    if is_own && let Err(error) = std::fs::remove_file(path) {
        tracing::debug!(%error, "removing the gateway's file");
    }
}
