//! The engine as a whole: properties that hold for any plan, and tables of what controllers do.

mod parts;
mod paths;
mod plans;
mod properties;
mod quinn;
mod run;
mod snapshots;
mod two_way;
mod udp;
