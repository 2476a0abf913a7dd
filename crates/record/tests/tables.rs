//! Tables written and read back with the reader of the Parquet crate.

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use record::table::ROWS_PER_GROUP;
use record::{
    EventKind, EventRow, FlowRow, Options, QueueRow, RecordError, SampleRow, Table, Tables,
};
use std::fs::File;
use std::path::Path;

fn sample(t_us: i64) -> SampleRow {
    SampleRow {
        t_us,
        flow: 3,
        goodput_bytes: t_us * 125,
        goodput_bps: 1_000_000_000,
        cwnd: Some(10 + t_us % 7),
        ssthresh: (t_us % 2 == 0).then_some(70),
        pacing_bps: Some(i64::MAX),
        srtt_us: None,
        rtt_us: Some(20_001),
        min_rtt_us: Some(20_000),
        in_flight: Some(10),
        packets_out: Some(12),
        sacked: Some(1),
        lost: Some(1),
        retrans_out: Some(0),
        delivered: 99,
        lost_total: Some(5),
        retrans_total: Some(6),
        segs_sent: 1000,
        delivery_rate_bps: Some(-1),
        ca_state: Some(3),
        cca_state: if t_us < 100 { "STARTUP" } else { "" },
        bw_bps: Some(1),
        cca_min_rtt_us: None,
        pacing_gain: Some(2.885),
        cwnd_gain: None,
        inflight_lo: None,
        inflight_hi: Some(i64::MIN),
    }
}

fn flow() -> FlowRow {
    FlowRow {
        flow: 0,
        name: "mine".to_string(),
        table: 0,
        transport: "tcp".to_string(),
        cca: "cubic".to_string(),
        rtt_us: 20_000,
        start_us: 0,
        stop_us: 10_000_000,
        established_us: Some(20_000),
        completed_us: None,
        size_bytes: None,
        goodput_bytes: 1448,
        segs_sent: 2,
        retrans_segs: Some(1),
        bytes_sent: 2896,
        delivered_segs: 1,
        lost_segs: Some(1),
        queue_drops: 1,
        random_drops: 0,
        recoveries: Some(1),
        rtos: Some(0),
        tlps: Some(0),
        undos: Some(0),
        acks_sent: Some(1),
        min_rtt_us: Some(20_012),
        ecn_marks: 0,
        aqm_drops: 0,
        policed_drops: 0,
        damaged: 0,
        duplicated: 0,
        owd_mean_us: None,
        owd_p50_us: None,
        owd_p95_us: None,
        owd_p99_us: None,
    }
}

fn queue(t_us: i64) -> QueueRow {
    QueueRow {
        t_us,
        link: 0,
        marked_packets: 0,
        backlog_bytes: 1514,
        backlog_packets: 1,
        sojourn_us: 12,
        sent_bytes: t_us,
        sent_packets: t_us / 12,
        dropped_packets: 0,
        dropped_bytes: 0,
        sojourn_integral_us2: Some(0),
    }
}

fn event(i: i64) -> EventRow {
    EventRow {
        t_ns: i * 1_000,
        flow: (i % 3 != 0).then_some(i as i32 % 2),
        kind: EventKind::ALL[i as usize % EventKind::ALL.len()],
        value: (i % 2 == 0).then_some(-i),
        note: (i % 5 == 0).then_some("Recovery"),
    }
}

fn rows(dir: &Path, table: &str) -> Vec<Row> {
    let file = File::open(dir.join(format!("{table}.parquet"))).expect("the table exists");
    let reader = SerializedFileReader::new(file).expect("it is Parquet");
    reader.into_iter().map(|row| row.expect("every row decodes")).collect()
}

fn columns(dir: &Path, table: &str) -> Vec<String> {
    let file = File::open(dir.join(format!("{table}.parquet"))).expect("the table exists");
    let reader = SerializedFileReader::new(file).expect("it is Parquet");
    let schema = reader.metadata().file_metadata().schema_descr();
    schema.columns().iter().map(|column| column.name().to_string()).collect()
}

fn text(value: &str) -> Field {
    Field::Str(value.to_string())
}

fn fields(row: &Row) -> Vec<Field> {
    row.get_column_iter().map(|(_, field)| field.clone()).collect()
}

/// Writes `n` samples and events, a queue row and a flow.
fn write(dir: &Path, n: i64, options: Options) {
    let mut tables = Tables::create(dir, options).expect("the folder is writable");
    for i in 0..n {
        tables.samples.push(&sample(i));
        tables.events.push(&event(i));
    }
    tables.queue.push(&queue(24));
    tables.flows.push(&flow());
    tables.finish().expect("the disk is not full");
}

#[test]
fn a_sample_comes_back_as_written_with_its_nulls() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), 2, Options::default());
    let got = fields(&rows(dir.path(), "samples")[1]);
    let (long, int) = (Field::Long, Field::Int);
    let mut want = vec![long(1), int(3), long(125), long(1_000_000_000), long(11), Field::Null];
    want.extend([long(i64::MAX), Field::Null, long(20_001), long(20_000), long(10), long(12)]);
    want.extend([long(1), long(1), long(0), long(99), long(5), long(6), long(1000), long(-1)]);
    want.extend([int(3), text("STARTUP"), long(1), Field::Null, Field::Double(2.885)]);
    want.extend([Field::Null, Field::Null, long(i64::MIN)]);
    assert_eq!(got, want);
}

#[test]
fn a_flow_and_a_queue_row_come_back_as_written() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), 0, Options::default());
    let got = fields(&rows(dir.path(), "flows")[0]);
    assert_eq!(got.len(), FlowRow::COLUMNS.len());
    assert_eq!((&got[1], &got[2]), (&text("mine"), &Field::Int(0)));
    assert_eq!((&got[3], &got[4]), (&text("tcp"), &text("cubic")));
    assert_eq!(got[8..12], [Field::Long(20_000), Field::Null, Field::Null, Field::Long(1448)]);
    let got = fields(&rows(dir.path(), "queue")[0]);
    let longs = [1514, 1, 12, 24, 2, 0, 0, 0, 0].map(Field::Long);
    assert_eq!(got[..2], [Field::Long(24), Field::Int(0)]);
    assert_eq!(got[2..], longs);
}

#[test]
fn events_keep_their_order_over_row_groups() {
    let dir = tempfile::tempdir().unwrap();
    let n = 2 * ROWS_PER_GROUP as i64 + 17;
    write(dir.path(), n, Options::default());
    let file = File::open(dir.path().join("events.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    assert_eq!(reader.metadata().num_row_groups(), 3);
    let rows = rows(dir.path(), "events");
    assert_eq!(rows.len() as i64, n);
    for (i, row) in rows.iter().enumerate() {
        let want = event(i as i64);
        let got = fields(row);
        assert_eq!(got[0], Field::Long(want.t_ns), "row {i}");
        assert_eq!(got[1], want.flow.map_or(Field::Null, Field::Int), "row {i}");
        assert_eq!(got[2], text(want.kind.as_str()), "row {i}");
        assert_eq!(got[3], want.value.map_or(Field::Null, Field::Long), "row {i}");
        assert_eq!(got[4], want.note.map_or(Field::Null, text), "row {i}");
    }
}

#[test]
fn the_same_rows_give_the_same_bytes() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for dir in [&one, &two] {
        write(dir.path(), ROWS_PER_GROUP as i64 + 5, Options::default());
    }
    for name in ["flows", "samples", "queue", "events"] {
        let file = format!("{name}.parquet");
        let bytes = |dir: &Path| std::fs::read(dir.join(&file)).unwrap();
        assert!(bytes(one.path()) == bytes(two.path()), "{file} differs");
    }
}

#[test]
fn a_table_that_is_off_has_its_schema_and_no_row() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), 10, Options { samples: false, queue: true, events: false });
    assert_eq!(rows(dir.path(), "samples").len(), 0);
    assert_eq!(rows(dir.path(), "events").len(), 0);
    assert_eq!(rows(dir.path(), "queue").len(), 1);
    let want: Vec<_> = SampleRow::COLUMNS.iter().map(|column| column.name).collect();
    assert_eq!(columns(dir.path(), "samples"), want);
}

#[test]
fn the_file_says_its_schema_version_and_nothing_of_the_machine() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), 1, Options::default());
    let file = File::open(dir.path().join("flows.parquet")).unwrap();
    let reader = SerializedFileReader::new(file).unwrap();
    let metadata = reader.metadata().file_metadata();
    let pairs = metadata.key_value_metadata().expect("the version is there");
    assert_eq!(pairs.len(), 1);
    assert_eq!((pairs[0].key.as_str(), pairs[0].value.as_deref()), ("schema_version", Some("2")));
    assert_eq!(metadata.created_by(), Some("dumbbell"));
}

#[test]
fn long_runs_of_counters_are_stored_in_little_space() {
    let dir = tempfile::tempdir().unwrap();
    let n = 4 * ROWS_PER_GROUP as u64;
    write(dir.path(), n as i64, Options::default());
    let bytes = std::fs::metadata(dir.path().join("samples.parquet")).unwrap().len();
    assert!(bytes < 8 * n, "{bytes} bytes for {n} samples of 28 columns");
}

#[test]
fn a_folder_that_is_not_there_is_an_error_that_names_the_file() {
    let dir = tempfile::tempdir().unwrap();
    let error = Tables::create(&dir.path().join("none"), Options::default()).err().unwrap();
    assert!(matches!(error, RecordError::Io { .. }), "{error:?}");
    assert!(error.to_string().contains("flows.parquet"), "{error}");
}

#[test]
fn a_full_disk_is_reported_when_the_tables_are_finished() {
    if !Path::new("/dev/full").exists() {
        panic!("this test writes to /dev/full, which Linux has");
    }
    let dir = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink("/dev/full", dir.path().join("queue.parquet")).unwrap();
    let mut tables = Tables::create(dir.path(), Options::default()).expect("nothing written yet");
    for t_us in 0..3 * ROWS_PER_GROUP as i64 {
        tables.queue.push(&queue(t_us));
    }
    let error = tables.finish().unwrap_err();
    assert!(error.to_string().contains("queue.parquet"), "{error}");
}
