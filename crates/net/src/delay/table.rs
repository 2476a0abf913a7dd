//! The tables of `tc netem distribution`, computed as iproute2's netem/normal.c, pareto.c and
//! paretonormal.c compute them, but in integers: 4096 quantiles in units of 1/8192 of the spread. The first
//! two agree with the files that `tc` reads entry by entry, the third to one unit.

use std::sync::OnceLock;

/// Unit of the entries (`NETEM_DIST_SCALE`).
pub const SCALE: i64 = 8192;
/// Entries of a table.
const ENTRIES: usize = 4096;

/// Quantiles in ascending order.
pub type Table = [i16; ENTRIES];

/// `normal.dist`.
pub fn normal() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let grid = normal_grid();
        std::array::from_fn(|j| rounded(grid[j] * SCALE, GRID).max(-32_768) as i16)
    })
}

/// `pareto.dist`.
pub fn pareto() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| std::array::from_fn(|j| pareto_entry(j) as i16))
}

/// `paretonormal.dist`. Its normal part is not cut at -4.
pub fn pareto_normal() -> &'static Table {
    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| {
        let grid = normal_grid();
        std::array::from_fn(|j| {
            rounded(grid[j] * SCALE + 3 * GRID * pareto_entry(j), 4 * GRID) as i16
        })
    })
}

/// normal.c walks along the axis in steps of 1/20000.
const GRID: i64 = 20_000;
/// One in the fixed point of the walk.
const ONE: u128 = 1 << 62;

/// For each entry j the last point of the grid below the (4j + 1/2)/16384 quantile, in grid steps.
///
/// The normal density is stepped by p(x + h) = p(x) e(x) with e(x + h) = e(x) exp(-h^2), and summed by
/// the trapezoid rule; the error stays below 10^-9, the grid's own steps are above 10^-8.
fn normal_grid() -> [i64; ENTRIES] {
    let steps = GRID as u128;
    // exp(-h^2 / 2) and exp(-h^2) by their series, h = 1/20000: the cubic term is below 2^-62.
    let series = |inverse: u128| ONE - ONE / inverse + ONE / (2 * inverse * inverse);
    let (mut ratio, shrink) = (series(2 * steps * steps), series(steps * steps));
    // 1 / sqrt(2 pi).
    let mut density = (398_942_280_401_432_678 * ONE) / 1_000_000_000_000_000_000;
    let (mut area, mut x) = (ONE / 2, 0);
    let mut grid = [0; ENTRIES];
    // The upper half: entry j has the quantile q = (8j + 1) / 32768 above 1/2. The lower half mirrors
    // it: its last point below -x is the next one beyond x.
    let targets = (0..ENTRIES as u128).map(|j| 8 * j + 1);
    let mut upper: Vec<(u128, usize)> =
        targets.enumerate().map(|(j, q)| (q.max(32_768 - q), j)).collect();
    upper.sort_unstable();
    for (target, j) in upper {
        while area < target * ONE / 32_768 {
            let next = density * ratio / ONE;
            area += (density + next) / (2 * steps);
            (density, ratio) = (next, ratio * shrink / ONE);
            x += 1;
        }
        grid[j] = if 8 * j < 16_384 { -x } else { x - 1 };
    }
    grid
}

/// Entry j: (4/3) (u^(-1/3) - 3/2) with u = 1 - j/4096, cut at 32767.
fn pareto_entry(j: usize) -> i64 {
    let m = (ENTRIES - j) as i128;
    // With u^(-1/3) = 16 m^(-1/3) it is n = 2^19 / (3 cbrt(m)) - 2^14, rounded: the largest n for which
    // n + 2^14 - 1/2 does not exceed the quotient, that is 27 m (2n + 2^15 - 1)^3 <= 2^60.
    let fits = |n: i128| 27 * m * (2 * n + 32_767).pow(3) <= 1 << 60;
    let (mut low, mut high) = (-16_384, 32_768);
    while high - low > 1 {
        let middle = (low + high) / 2;
        *(if fits(middle) { &mut low } else { &mut high }) = middle;
    }
    low as i64
}

/// `a / b` to the nearest integer, `b` positive.
fn rounded(a: i64, b: i64) -> i64 {
    (2 * a + b).div_euclid(2 * b)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(table: &Table) -> i64 {
        table.iter().map(|&v| i64::from(v)).sum()
    }

    #[test]
    fn the_normal_table_is_tcs() {
        let t = normal();
        assert_eq!(t[..6], [-32_768, -28_307, -26_871, -25_967, -25_298, -24_765]);
        assert_eq!(t[4090..], [24_424, 24_888, 25_450, 26_164, 27_159, 28_858]);
        assert_eq!((t[1000], t[2048], t[3000]), (-5_677, 0, 5_081));
        assert_eq!(sum(t), -26_163);
        let squares: i64 = t.iter().map(|&v| i64::from(v) * i64::from(v)).sum();
        assert_eq!(squares, 274_907_053_073);
    }

    #[test]
    fn the_pareto_table_is_tcs() {
        let t = pareto();
        assert_eq!(t[..6], [-5_461, -5_460, -5_460, -5_459, -5_458, -5_457]);
        assert_eq!((t[1000], t[2048], t[3000], t[4095]), (-4_393, -2_622, 566, 32_767));
        assert_eq!(sum(t), -1_123_786);
    }

    #[test]
    fn the_pareto_normal_table_is_tcs_to_a_unit() {
        let t = pareto_normal();
        let tc = [
            (0, -12_305),
            (1, -11_171),
            (1000, -4_714),
            (2048, -1_966),
            (3000, 1_694),
            (4094, 31_365),
            (4095, 31_789),
        ];
        for (j, entry) in tc {
            assert!((t[j] - entry).abs() <= 1, "entry {j}: {} and {entry}", t[j]);
        }
        assert!((sum(t) + 848_968).abs() < 2_000, "{}", sum(t));
    }
}
