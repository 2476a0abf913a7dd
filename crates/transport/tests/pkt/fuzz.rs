//! The parser and the runner never panic on text that is not a script, and say which line is wrong.

use crate::parse::parse;
use crate::run::run;
use proptest::prelude::*;

/// A script that uses all of the language.
const WHOLE: &str = "\
// comment
--cca=reno --qdisc=pfifo --tso=off --hz=250 --write=2896
0 connect
+0 > S 0:0(0)
0.1 < S. 0:0(0) ack 1 win 65535
+0 > . 1:1(0) ack 1 <TS val 100 ecr 100>
+0 > [noecn] . 1:1449(1448) ack 1
+0 > P. 1449:2897(1448) ack 1
%{ assert tcpi_snd_cwnd == 10;
   assert tcpi_unacked >= 2 }%
+.010 < E. 1:1(0) ack 1 win 65535 <sack 1449:2897,nop,nop>
";

#[test]
fn errors_name_the_line_what_was_given_and_what_is_accepted() {
    for (text, line, expected) in [
        ("--tso=yes", 1, "wanted on or off, got `yes`"),
        ("--speed=1", 1, "unknown setting `speed`"),
        ("0 connect\n--tso=on", 2, "settings come before the first event"),
        ("soon connect", 1, "wanted a time in seconds"),
        ("+.0000000001 connect", 1, "wanted a time in seconds"),
        ("\n0 listen", 2, "wanted <, >, %{ or connect, got `listen`"),
        ("0 < X. 1:1(0) ack 1", 1, "wanted flags of S P E W A F . or ACE 0 to 7, got `X.`"),
        ("0 < . 1:2(0) ack 1", 1, "1:2 has 1 bytes, not 0"),
        ("0 < . 1:1(0)", 1, "go together"),
        ("0 < . 1:1(0) ack 1 <mss 1460>", 1, "wanted nop, TS val N ecr N or sack"),
        ("%{ assert tcpi_cwnd == 1 }%", 1, "no field `tcpi_cwnd`"),
        ("%{ }%", 1, "proves nothing"),
        ("0 connect\n%{ assert", 2, "`%{` without `}%`"),
    ] {
        let error = parse(text).expect_err(text);
        assert_eq!(error.line, line, "{text}: {error}");
        assert!(error.message.contains(expected), "{text}: {error}");
    }
}

#[test]
fn a_script_fails_where_the_exchange_differs() {
    for (from, to, line, expected) in [
        ("2897(1448) ack 1", "2897(1448) ack 1\n+0 > . 2897:4345(1448) ack 1", 9, "nothing left"),
        ("tcpi_unacked >= 2", "tcpi_unacked == 9", 10, "it is 2"),
        ("+0 > S 0:0(0)", "+.001 > S 0:0(0)", 4, "came at 0: [noecn] S 0:0(0)"),
        (
            "+0 > P. 1449:2897(1448) ack 1\n",
            "",
            8,
            "unexpected before this, at 0.1: [noecn] P. 1449:2897",
        ),
        (
            "ack 1 win 65535\n",
            "ack 1 win 65535 <sack 2:1449>\n",
            5,
            "no segment of 1448 bytes begins at 2",
        ),
    ] {
        let script = parse(&WHOLE.replace(from, to)).expect("still a script");
        let failure = run(&script).expect_err(to);
        assert_eq!(failure.line, line, "{to}: {failure}");
        assert!(failure.message.contains(expected), "{to}: {failure}");
    }
}

proptest! {
    #[test]
    fn any_text_is_a_script_or_an_error(text in "[-+.0-9a-zA-Z<>%{}()\\[\\] :;=/\n]{0,200}") {
        let _ = parse(&text);
    }

    #[test]
    fn a_damaged_script_is_a_script_or_an_error(
        at in 0..WHOLE.len(), len in 0..8usize, by in "[-+.0-9a-zSPEW<>%{}:()\n ]{0,8}",
    ) {
        let mut text = WHOLE.to_string();
        text.replace_range(at..(at + len).min(WHOLE.len()), &by);
        match parse(&text) {
            Ok(script) => drop(run(&script)),
            Err(error) => prop_assert!(error.line >= 1 && error.line <= text.lines().count()),
        }
    }
}
