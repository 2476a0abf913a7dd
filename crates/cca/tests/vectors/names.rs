//! The names and values of a vector: fields of the socket, states, events and tables.

use cca::{CaEvent, CaState, TcpSock};
use toml::{Table, Value};

use crate::Result;

macro_rules! fields {
    ($($name:ident: $type:ty),*) => {
        pub fn set_field(sk: &mut TcpSock, name: &str, value: i64) -> Option<()> {
            match name {
                $(stringify!($name) => sk.$name = <$type>::try_from(value).ok()?,)*
                _ => return None,
            }
            Some(())
        }

        pub fn field(sk: &TcpSock, name: &str) -> Option<i64> {
            match name {
                $(stringify!($name) => i64::try_from(sk.$name).ok(),)*
                _ => None,
            }
        }
    };
}

fields! {
    sk_pacing_rate: u64, sk_max_pacing_rate: u64, sk_pacing_status: u32, sk_gso_max_size: u32,
    icsk_ca_state: u8, tcp_wstamp_ns: u64, snd_una: u32, snd_nxt: u32, mss_cache: u32, srtt_us: u32,
    mdev_us: u32, write_seq: u32, snd_wnd: u32,
    snd_cwnd: u32, snd_cwnd_cnt: u32, snd_cwnd_clamp: u32, snd_ssthresh: u32, prior_cwnd: u32,
    packets_out: u32, retrans_out: u32, sacked_out: u32, lost_out: u32, max_packets_out: u32,
    is_cwnd_limited: u8, ecn_flags: u8, delivered: u32, lost: u32, app_limited: u32, lsndtime: u32,
    rate_delivered: u32, rate_interval_us: u32
}

pub fn ca_state(name: &str) -> Result<CaState> {
    match name {
        "Disorder" => Ok(CaState::Disorder),
        "Recovery" => Ok(CaState::Recovery),
        "Cwr" => Ok(CaState::Cwr),
        other => Err(format!("cannot enter `{other}`")),
    }
}

pub fn ca_event(name: &str) -> Result<CaEvent> {
    match name {
        "TxStart" => Ok(CaEvent::TxStart),
        "TlpRecovery" => Ok(CaEvent::TlpRecovery),
        "CwndRestart" => Ok(CaEvent::CwndRestart),
        other => Err(format!("unknown event `{other}`")),
    }
}

pub fn integer(value: &Value) -> Result<i64> {
    value.as_integer().ok_or(format!("`{value}` is not an integer"))
}

pub fn number(table: &mut Table, key: &str) -> Result<Option<i64>> {
    table.remove(key).map(|value| integer(&value)).transpose()
}

pub fn table(of: &mut Table, key: &str) -> Result<Table> {
    match of.remove(key) {
        None => Ok(Table::new()),
        Some(Value::Table(inner)) => Ok(inner),
        Some(other) => Err(format!("`{key} = {other}` is not a table")),
    }
}

pub fn no_other_keys(table: &Table) -> Result<()> {
    match table.keys().next() {
        Some(key) => Err(format!("unknown key `{key}`")),
        None => Ok(()),
    }
}
