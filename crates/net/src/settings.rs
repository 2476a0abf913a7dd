//! Settings of parts, each declared once: its text, unit, range and default.
//!
//! A part's `Config` is what a plan holds. The macro [`settings!`] makes of one list the struct, its
//! defaults, its form in JSON, the check of its ranges, and [`Settings::FIELDS`], from which the keys of the
//! scenario file and their documentation are generated.

use std::ops::RangeInclusive;
use units::{Bytes, Rate, Span};

/// What a setting counts, and so how a person may write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number without a unit.
    Number,
    /// Yes or no.
    Switch,
    /// One of these words.
    Word(&'static [&'static str]),
    /// Nanoseconds.
    Time,
    /// Bits per second.
    Rate,
    /// Bytes.
    Size,
    /// Parts of 10^9.
    Share,
    /// Packets.
    Packets,
    /// What a queue holds, in packets or in bytes as its key says; may be written as a time or in BDP.
    Queue,
    /// Bytes of memory; the buffer of the link may stand for it.
    Memory,
    /// Not written: the link decides it.
    Link,
}

/// One setting of a part.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// What people call it.
    pub name: &'static str,
    /// What a plan calls it: the name with its unit.
    pub key: &'static str,
    /// What it does, as sentences.
    pub text: &'static str,
    /// What it counts.
    pub unit: Unit,
    /// The smallest and the largest that is accepted.
    pub range: Option<(i128, i128)>,
    /// It has no default.
    pub is_required: bool,
}

/// A value that a part does not accept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The key in the part's table; empty for the table as a whole.
    pub key: &'static str,
    /// What was given.
    pub got: String,
    /// What is accepted.
    pub wanted: String,
}

impl Refused {
    /// Refuses `got` at `key`.
    pub fn new(key: &'static str, got: impl ToString, wanted: impl ToString) -> Refused {
        Refused { key, got: got.to_string(), wanted: wanted.to_string() }
    }
}

/// The settings of a part.
pub trait Settings: Default {
    /// The name of the part in a plan.
    const KIND: &'static str;
    /// What the part is.
    const TEXT: &'static str;
    /// Its settings, in the order in which people read them.
    const FIELDS: &'static [Field];

    /// Refuses values out of range, and values that contradict each other.
    ///
    /// # Errors
    /// The first setting that is refused.
    fn check(&self) -> Result<(), Refused>;
}

/// A value that can be a setting.
pub trait Setting: Copy {
    /// What it counts unless its declaration says otherwise.
    const UNIT: Unit;

    /// The number that is compared with the range; `None` where there is none.
    fn number(self) -> Option<i128>;
}

/// Times of queue disciplines, ns.
pub const TIMES: RangeInclusive<i128> = 1_000..=100_000_000_000;
/// Rates of links and shapers, bit/s.
pub const RATES: RangeInclusive<i128> = 1_000..=1_000_000_000_000;
/// A delay, ns: one minute at most.
pub const DELAYS: RangeInclusive<i128> = 0..=60_000_000_000;
/// A share of everything, in parts of 10^9.
pub const SHARES: RangeInclusive<i128> = 0..=1_000_000_000;
/// Bytes of a full frame.
pub const FRAME: i128 = 1_514;
/// The largest queue: it holds a BDP of the fastest link and the longest RTT, and its bits are far below 2^63.
const QUEUE_MAX: i128 = 1 << 43;
/// Wire bytes in a queue: one acknowledgement with timestamps and three SACK blocks at least.
pub const QUEUE_BYTES: RangeInclusive<i128> = 94..=QUEUE_MAX;
/// Packets in a queue.
pub const QUEUE_PACKETS: RangeInclusive<i128> = 1..=QUEUE_MAX / FRAME;
/// Memory of a queue, bytes: the kernel's limit is 2 GiB.
pub const MEMORY: RangeInclusive<i128> = FRAME..=1 << 31;
/// What a flow may send in its turn, bytes.
pub const QUANTA: RangeInclusive<i128> = 256..=1 << 20;
/// Depth of a token bucket, bytes: one frame at least, and what `tc` keeps in 32 bits at most
/// (`TCA_TBF_BURST`), which at the slowest rate are 1.1 years and so stay below 2^63 ns.
pub const BURSTS: RangeInclusive<i128> = FRAME..=u32::MAX as i128;

/// Header of a link layer, bytes: none, as for IP packets that nothing frames, to what Ethernet takes with preamble, tags
/// and gap.
pub const HEADERS: RangeInclusive<i128> = 0..=64;

/// Refuses a value out of the range of its field.
pub(crate) fn check_range(value: impl Setting, field: &Field) -> Result<(), Refused> {
    match (value.number(), field.range) {
        (Some(got), Some((low, high))) if !(low..=high).contains(&got) => {
            Err(Refused::new(field.key, got, format!("{low} to {high}")))
        }
        _ => Ok(()),
    }
}

macro_rules! numbers {
    ($($unit:ident: $($type:ty => $number:expr),+;)+) => {
        $($(impl Setting for $type {
            const UNIT: Unit = Unit::$unit;

            fn number(self) -> Option<i128> {
                let number: fn($type) -> _ = $number;
                Some(i128::from(number(self)))
            }
        })+)+
    };
}

numbers! {
    Number: u8 => |n| n, u32 => |n| n, u64 => |n| n, i32 => |n| n;
    Time: Span => Span::as_ns;
    Rate: Rate => Rate::as_bps;
    Size: Bytes => Bytes::get;
}

impl Setting for bool {
    const UNIT: Unit = Unit::Switch;

    fn number(self) -> Option<i128> {
        None
    }
}

impl<T: Setting> Setting for Option<T> {
    const UNIT: Unit = T::UNIT;

    fn number(self) -> Option<i128> {
        self.and_then(T::number)
    }
}

/// Declares the settings of a part. A line is `name "key": type [range, unit] = default;`, where the brackets,
/// the unit in them or the default may be left out. What stands under `given` is not in a plan: the host or the run gives it.
/// The check that may follow `also` is for settings that contradict each other.
macro_rules! settings {
    (
        $(#[doc = $about:literal])+
        pub struct $Config:ident for $kind:literal {
            $(
                $(#[doc = $text:literal])+
                $field:ident $key:literal: $type:ty $([$range:expr $(, $unit:ident)?])? $(= $default:expr)?;
            )*
        }
        $(given { $( $(#[doc = $given_text:literal])+ $given:ident: $given_type:ty = $given_default:expr; )* })?
        $(also $also:path;)?
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $Config {
            $( $(#[doc = $text])+ #[serde(rename = $key)] pub $field: $type, )*
            $($( $(#[doc = $given_text])+ #[serde(skip)] pub $given: $given_type, )*)?
        }

        impl Default for $Config {
            fn default() -> Self {
                $Config {
                    $( $field: $crate::settings::default_of!($type $(, $default)?), )*
                    $($( $given: $given_default, )*)?
                }
            }
        }

        impl $crate::settings::Settings for $Config {
            const KIND: &'static str = $kind;
            const TEXT: &'static str = concat!($($about),+);
            const FIELDS: &'static [$crate::settings::Field] = &[$( $crate::settings::Field {
                name: stringify!($field),
                key: $key,
                text: concat!($($text),+),
                unit: $crate::settings::unit_of!($type $($(, $unit)?)?),
                range: $crate::settings::range_of!($($range)?),
                is_required: $crate::settings::is_required!($($default)?),
            } ),*];

            fn check(&self) -> Result<(), $crate::settings::Refused> {
                let mut fields = Self::FIELDS.iter();
                $( if let Some(field) = fields.next() {
                    $crate::settings::check_range(self.$field, field)?;
                } )*
                $( $also(self)?; )?
                Ok(())
            }
        }
    };
}

/// The default that a declaration has; without one, zero, which the range refuses or which does nothing.
macro_rules! default_of {
    ($type:ty) => {
        <$type>::default()
    };
    ($type:ty, $default:expr) => {
        $default
    };
}

/// Whether a declaration has no default.
macro_rules! is_required {
    () => {
        true
    };
    ($default:expr) => {
        false
    };
}

/// The unit that a declaration names, or that of its type.
macro_rules! unit_of {
    ($type:ty) => {
        <$type as $crate::settings::Setting>::UNIT
    };
    ($type:ty, $unit:ident) => {
        $crate::settings::Unit::$unit
    };
}

/// Both ends of the range that a declaration has, if it has one.
macro_rules! range_of {
    () => {
        None
    };
    ($range:expr) => {
        Some((*$range.start(), *$range.end()))
    };
}

/// Declares an enum whose variants are words in a plan.
macro_rules! words {
    (
        $(#[$about:meta])+
        pub enum $Name:ident { $( $(#[$text:meta])+ $Variant:ident = $word:literal, )+ }
    ) => {
        $(#[$about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Default, serde::Deserialize, serde::Serialize)]
        pub enum $Name {
            $( $(#[$text])+ #[serde(rename = $word)] $Variant, )+
        }

        impl $crate::settings::Setting for $Name {
            const UNIT: $crate::settings::Unit = $crate::settings::Unit::Word(&[$($word),+]);

            fn number(self) -> Option<i128> {
                None
            }
        }
    };
}

pub(crate) use {default_of, is_required, range_of, settings, unit_of, words};
