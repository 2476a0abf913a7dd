//! Prints what quiche's reader finds in a qlog: the header, and for each event its name, group and data, a JSON text
//! per line. An event that the reader does not know as one of QUIC's is an error.

use qlog::events::{Event as Known, EventData};
use qlog::reader::{Event, QlogSeqReader};
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("usage: qlog-reader FILE.sqlog")?;
    let reader = QlogSeqReader::with_file(path)?;
    println!("{}", serde_json::to_string(&reader.qlog)?);
    for (i, event) in reader.enumerate() {
        let Event::Qlog(event) = event else {
            return Err(format!("event {i} is none of QUIC's: {event:?}").into());
        };
        println!("{}", line(&event)?);
    }
    Ok(())
}

fn line(event: &Known) -> serde_json::Result<serde_json::Value> {
    let kind = match &event.data {
        EventData::QuicPacketSent(_) => "sent",
        EventData::QuicPacketReceived(_) => "received",
        EventData::QuicPacketsAcked(_) => "acked",
        EventData::QuicPacketLost(_) => "lost",
        EventData::QuicMetricsUpdated(_) => "metrics",
        EventData::QuicCongestionStateUpdated(_) => "state",
        _ => "other",
    };
    let data = serde_json::to_value(&event.data)?;
    Ok(json!({ "kind": kind, "time": event.time, "group": event.group_id, "data": data["data"] }))
}
