//! Where a server listens.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

/// Where to listen: `127.0.0.1:9464`, `[::1]:9464`, `localhost:9464` or `unix:PATH`. No name is looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An address of this machine; port 0 is a free one.
    Tcp(SocketAddr),
    /// A socket in the file system.
    Unix(PathBuf),
}

/// A text that is no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoAddress(String);

impl Error for NoAddress {}

impl Display for NoAddress {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{:?} is no address: write it like 127.0.0.1:9464 or unix:/run/app/http", self.0)
    }
}

impl Address {
    /// True if only processes of this machine can connect.
    pub fn is_local(&self) -> bool {
        match self {
            Address::Tcp(address) => address.ip().is_loopback(),
            Address::Unix(_) => true,
        }
    }
}

impl FromStr for Address {
    type Err = NoAddress;

    fn from_str(text: &str) -> Result<Self, NoAddress> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Address::Unix(path.into()));
        }
        let loopback = text.strip_prefix("localhost:").and_then(|port| port.parse().ok());
        let loopback = loopback.map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        let address = loopback.or_else(|| text.parse().ok());
        address.map(Address::Tcp).ok_or_else(|| NoAddress(text.to_owned()))
    }
}

impl Display for Address {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => write!(out, "http://{address}"),
            Address::Unix(path) => write!(out, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check which texts are addresses, and which of them others can reach.
    #[test]
    fn addresses_are_read() {
        for (text, is_local) in [
            ("127.0.0.1:9464", true),
            ("127.8.9.10:1", true),
            ("localhost:0", true),
            ("[::1]:9464", true),
            ("unix:/run/x", true),
            ("0.0.0.0:9464", false),
            ("[::]:9464", false),
            ("10.0.0.7:9464", false),
        ] {
            assert_eq!(text.parse::<Address>().map(|address| address.is_local()), Ok(is_local), "{text}");
        }
        for text in
            ["", "unix:", "9464", "host:9464", "localhost", "localhost:x", "127.0.0.1", "127.0.0.1:70000"]
        {
            assert_eq!(text.parse::<Address>(), Err(NoAddress(text.to_owned())));
        }
    }
}
