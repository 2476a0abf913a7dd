//! From an object to a registered controller.

use libbpf_rs::btf::types::{MemberAttr, Struct};
use libbpf_rs::btf::Btf;
use libbpf_rs::{AsRawLibbpf, Link, MapCore, MapType, ObjectBuilder, OpenMapMut, OpenObject};

use crate::pins::{self, Pins};
use crate::sys::{self, Kernel, Lock};
use crate::table::{Table, MODULE, ROWS, STATES, VALUES};
use crate::{elf, log, netns, Error, Object};

/// The program that reports on sockets (`cca/hosts/bpf/report.h`).
const REPORT: &str = "cca_report";
/// Section of `cca/hosts/bpf/table.h` that is for the loader alone.
const LOADER: &str = ".rodata.loader";
/// Where `kernel_name` is in a `struct cca_module_row`, and its size, `TCP_CA_NAME_MAX`.
const KERNEL_NAME: usize = 48;
const CA_NAME_MAX: usize = 16;

/// What the kernel is to call a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name<'a> {
    /// Its own, such as `bbr2`, or `d_cubic` where the kernel has one of its own: there is one on the machine, for everybody.
    Own,
    /// This one.
    As(&'a str),
    /// The first of `d_bbr2_1`, `d_bbr2_2`, ... that is free: for one caller, in addition to others of the same source.
    Numbered,
}

/// A controller that any socket of the machine may use as long as this lives, or for good after [`Loaded::keep`].
///
/// Dropping it takes the controller away from new sockets; those that use it keep it until they close. Should the
/// process be killed, the kernel does the same.
#[derive(Debug)]
#[must_use = "the controller is unloaded when this is dropped"]
pub struct Loaded {
    name: String,
    kernel_name: String,
    renewed: Vec<String>,
    link: Option<Registration>,
    pins: Option<Pins>,
}

impl Loaded {
    /// The name that its source gives it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the kernel calls it: the name for `TCP_CONGESTION` and sysctl.
    #[must_use]
    pub fn kernel_name(&self) -> &str {
        &self.kernel_name
    }

    /// Network namespaces that had an earlier load of the name as their default, and have this one now; empty text: the
    /// caller's.
    #[must_use]
    pub fn renewed(&self) -> &[String] {
        &self.renewed
    }

    /// Leaves it registered when the process ends, until [`crate::unload`].
    ///
    /// # Errors
    /// When it cannot be pinned; it is unloaded then.
    pub fn keep(mut self) -> Result<(), Error> {
        let Some(pins) = self.pins.as_mut() else { return Ok(()) };
        let Some(link) = self.link.as_mut() else { return Ok(()) };
        let pinned = link.0.pin(pins.path(pins::LINK));
        pinned.map_err(|e| failed(&self.name, "pinning it", &e, ""))?;
        // Closing a pinned link leaves it registered; so must the pins stay.
        link.1 = Ending::Stays;
        if let Some(pins) = self.pins.take() {
            pins.stay();
        }
        Ok(())
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // Else another process might take the name between these two, and its pins would go with the second. Without the
        // lock, the same happens a little less safely.
        let _lock = Lock::take();
        // First the name goes, then what describes it.
        self.link = None;
        self.pins = None;
    }
}

/// What is to become of a registration when its handle is closed.
#[derive(Debug, PartialEq)]
enum Ending {
    Detach,
    Stays,
}

#[derive(Debug)]
struct Registration(Link, Ending);

impl Drop for Registration {
    fn drop(&mut self) {
        if self.1 == Ending::Detach {
            // Where the kernel cannot detach at once (before 6.10), closing the link does the same soon after.
            drop(log::capture(|| self.0.detach()));
        }
    }
}

/// Registers a controller with these values of its parameters.
///
/// # Errors
/// When the process may not, the kernel cannot or will not, the name is taken, or a parameter is refused. Nothing
/// is left behind then.
pub fn load(object: &Object, params: &[(String, String)], name: Name<'_>) -> Result<Loaded, Error> {
    sys::check_permission()?;
    elf::check()?;
    let kernel = Kernel::probe()?;
    sys::ensure_bpffs()?;
    let _lock = Lock::take()?;
    pins::sweep()?;

    let mut open = open(object)?;
    let mut table = describe(object, &mut open)?;
    table.name.clone_from(&object.name);
    table.kernel_name = match name {
        Name::Own => own_name(&table.name)?,
        Name::As(name) => wanted_name(&table.name, name)?,
        Name::Numbered => free_number(&table.name),
    };
    rename(&mut open, &table)?;
    fit(&mut open, &table, params, kernel)?;
    let pins = Pins::create(&table.kernel_name)?;
    let (loaded, printed) = log::capture(|| open.load());
    let mut loaded = loaded.map_err(|e| match log::refusal(&printed) {
        Some((program, log)) => Error::Refused { name: table.name.clone(), program, log },
        None => failed(&table.name, "loading it", &e, &printed),
    })?;
    pin(&mut loaded, &pins, &table.name)?;
    let link = register(&mut loaded, &table.name)?;
    let Table { name, kernel_name, .. } = table;
    let renewed = netns::renew_default(&kernel_name);
    Ok(Loaded { name, kernel_name, renewed, link: Some(link), pins: Some(pins) })
}

fn failed(name: &str, doing: &'static str, error: &libbpf_rs::Error, printed: &str) -> Error {
    let reason = log::reason(printed).unwrap_or_else(|| error.to_string());
    Error::Load { name: name.to_owned(), doing, reason }
}

fn open(object: &Object) -> Result<OpenObject, Error> {
    // libbpf needs the bytes aligned as the structs of an ELF file are, which embedded ones may not be.
    let mut aligned = vec![0u64; object.bytes.len().div_ceil(8)];
    for (word, bytes) in aligned.iter_mut().zip(object.bytes.chunks(8)) {
        let mut whole = [0; 8];
        whole[..bytes.len()].copy_from_slice(bytes);
        *word = u64::from_ne_bytes(whole);
    }
    // SAFETY: as many initialised bytes as the object has lie in the words just filled.
    let bytes =
        unsafe { std::slice::from_raw_parts(aligned.as_ptr().cast::<u8>(), object.bytes.len()) };
    let (open, printed) = log::capture(|| {
        let mut builder = ObjectBuilder::default();
        builder.name(object.name.replace('-', "_"))?.open_memory(bytes)
    });
    open.map_err(|e| failed(&object.name, "reading the object", &e, &printed))
}

/// The map of a section, if the object has it.
fn section<'a>(open: &'a mut OpenObject, name: &str) -> Option<OpenMapMut<'a>> {
    open.maps_mut().find(|map| map.name() == name)
}

fn initial(open: &mut OpenObject, name: &str) -> Vec<u8> {
    let map = section(open, name);
    map.and_then(|map| map.initial_value().map(<[u8]>::to_vec)).unwrap_or_default()
}

fn describe(object: &Object, open: &mut OpenObject) -> Result<Table, Error> {
    let tables = [MODULE, ROWS, VALUES, STATES].map(|name| initial(open, name));
    let [module, rows, values, states] = &tables;
    let has_report = open.progs().any(|program| program.name() == REPORT);
    let table = Table::parse(module, rows, values, states).filter(|_| has_report);
    table.ok_or_else(|| {
        Error::Source(format!("{}: is not a controller of cca.h compiled for BPF", object.name))
    })
}

/// Its own name, or with `d_` where somebody else has registered that.
fn own_name(name: &str) -> Result<String, Error> {
    let own = cca::kernel_name(name);
    if Pins::exist(&own) || !sys::is_registered(&own) {
        return wanted_name(name, &own);
    }
    wanted_name(name, &cca::prefixed_name(name))
}

/// This name, if it is one and free.
fn wanted_name(name: &str, wanted: &str) -> Result<String, Error> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (name, kernel_name) = (name.to_owned(), wanted.to_owned());
    if wanted.is_empty() || wanted.len() >= CA_NAME_MAX || !wanted.chars().all(fits) {
        return Err(Error::BadName { name, kernel_name });
    }
    if Pins::exist(wanted) {
        return Err(Error::AlreadyLoaded { name, kernel_name });
    }
    if sys::is_registered(wanted) {
        return Err(Error::NameTaken { name, kernel_name });
    }
    Ok(kernel_name)
}

/// The first numbered name that is free; the caller holds the lock.
fn free_number(name: &str) -> String {
    let is_free = |name: &String| !Pins::exist(name) && !sys::is_registered(name);
    let mut names = (1u32..).map(|number| numbered(&cca::prefixed_name(name), number));
    names.find(is_free).expect("more names than controllers")
}

/// Writes the names of the table into the object.
fn rename(open: &mut OpenObject, table: &Table) -> Result<(), Error> {
    let mut padded = [0; CA_NAME_MAX];
    padded[..table.kernel_name.len()].copy_from_slice(table.kernel_name.as_bytes());
    let wrong = || Error::Source(format!("{}: has no name in its ops", table.name));
    let at = name_in_ops(open).ok_or_else(wrong)?;
    let mut maps: Vec<OpenMapMut<'_>> = open.maps_mut().collect();
    let ops = maps.iter_mut().find(|map| map.map_type() == MapType::StructOps);
    let ops = ops.and_then(OpenMapMut::initial_value_mut);
    ops.and_then(|ops| ops.get_mut(at..at + CA_NAME_MAX))
        .ok_or_else(wrong)?
        .copy_from_slice(&padded);
    let module = maps.iter_mut().find(|map| map.name() == MODULE);
    let row = module.and_then(OpenMapMut::initial_value_mut).ok_or_else(wrong)?;
    row.get_mut(KERNEL_NAME..KERNEL_NAME + CA_NAME_MAX).ok_or_else(wrong)?.copy_from_slice(&padded);
    // The kernel's rows end names with a zero.
    let name = &table.name.as_bytes()[..table.name.len().min(KERNEL_NAME - 1)];
    row[..KERNEL_NAME].fill(0);
    row[..name.len()].copy_from_slice(name);
    Ok(())
}

/// `d_bbr2_3`, as much of the name as fits.
fn numbered(kernel_name: &str, number: u32) -> String {
    let suffix = format!("_{number}");
    let length = (CA_NAME_MAX - 1).saturating_sub(suffix.len());
    format!("{}{suffix}", &kernel_name[..kernel_name.len().min(length)])
}

/// Where the name is in the object's `struct tcp_congestion_ops`, bytes.
fn name_in_ops(open: &OpenObject) -> Option<usize> {
    // SAFETY: the object outlives the reference.
    let object = unsafe { open.as_libbpf_object().as_ref() };
    let btf = Btf::from_bpf_object(object).ok().flatten()?;
    let ops = btf.type_by_name::<Struct<'_>>("tcp_congestion_ops")?;
    let member = ops.iter().find(|member| member.name.is_some_and(|name| name == "name"))?;
    match member.attr {
        MemberAttr::Normal { offset } => Some(offset as usize / 8),
        MemberAttr::BitField { .. } => None,
    }
}

/// Writes what the object must know before it is loaded.
fn fit(
    open: &mut OpenObject,
    table: &Table,
    params: &[(String, String)],
    kernel: Kernel,
) -> Result<(), Error> {
    let mut none = [];
    let mut values = section(open, VALUES);
    let values = values.as_mut().and_then(OpenMapMut::initial_value_mut);
    table.write(params, values.unwrap_or(&mut none))?;
    if let Some(map) = section(open, LOADER).as_mut().and_then(OpenMapMut::initial_value_mut) {
        map[..4].copy_from_slice(&kernel.hz.to_ne_bytes());
        map[4..8].copy_from_slice(&u32::from(kernel.has_old_cong_control).to_ne_bytes());
    }
    Ok(())
}

/// Pins the tables and the report.
fn pin(loaded: &mut libbpf_rs::Object, pins: &Pins, name: &str) -> Result<(), Error> {
    for (section, file) in pins::TABLES {
        let Some(mut map) = loaded.maps_mut().find(|map| map.name() == section) else { continue };
        map.pin(pins.path(file)).map_err(|e| failed(name, "pinning its tables", &e, ""))?;
    }
    let report = loaded.progs_mut().find(|program| program.name() == REPORT);
    let report = report.expect("describe() has seen it");
    let (link, printed) = log::capture(|| report.attach());
    let mut link = link.map_err(|e| failed(name, "attaching its report", &e, &printed))?;
    let pinned = link.pin(pins.path(pins::REPORT));
    pinned.map_err(|e| failed(name, "pinning its report", &e, ""))
}

fn register(loaded: &mut libbpf_rs::Object, name: &str) -> Result<Registration, Error> {
    let ops = loaded.maps_mut().find(|map| map.map_type() == MapType::StructOps);
    let mut ops = ops.ok_or_else(|| {
        Error::Source(format!("{name}: its object has no struct tcp_congestion_ops"))
    })?;
    let (link, printed) = log::capture(|| ops.attach_struct_ops());
    let link = link.map_err(|e| failed(name, "registering it", &e, &printed))?;
    Ok(Registration(link, Ending::Detach))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numbered_name_fits_into_what_the_kernel_has_for_it() {
        assert_eq!(numbered("d_bbr2", 3), "d_bbr2_3");
        assert_eq!(numbered("d_tsunami_zhang", 12), "d_tsunami_zh_12");
    }

    /// On a kernel that has four arguments, the form for two must be refused for taking the second, a number, for the
    /// sample: so the choice of form is the loader's, and the other branch is not verified.
    #[test]
    fn the_old_form_of_cong_control_takes_the_sample_from_the_second_argument() {
        let Ok(kernel) = sys::check_permission().and_then(|()| Kernel::probe()) else { return };
        let Ok(object) = Object::find("bbr") else { return };
        if kernel.has_old_cong_control {
            return;
        }
        let mut open = open(&object).expect("built in");
        let table = describe(&object, &mut open).expect("built in");
        let old = Kernel { has_old_cong_control: true, ..kernel };
        fit(&mut open, &table, &[], old).expect("no parameters");
        let (loaded, printed) = log::capture(|| open.load());
        assert!(loaded.is_err());
        let (program, log) = log::refusal(&printed).expect("by the verifier");
        assert_eq!(program, "bbr_main");
        assert!(log.contains("invalid mem access 'scalar'"), "{log}");
    }
}
