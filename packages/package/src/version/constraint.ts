import { compareVersions, parseVersion, type Version } from "./version.ts";

/**
 * A constraint on versions, in the syntax of Crossplane's library, Masterminds/semver 3
 * (https://github.com/Masterminds/semver). Npm's ranges differ, so the package `semver` only orders versions here.
 *
 * - a comma joins comparisons, as a space does; `!=`, `=>` and `=<` are operators
 * - any later prerelease satisfies `>=1.2.0-0`, such as 1.5.0-beta; for npm, only one of 1.2.0 does
 * - without a prerelease in its comparisons, an alternative admits none
 * - `>=1.2-0` is a comparison: an incomplete version can have a prerelease
 * - build metadata does not count, and an empty text is not a valid constraint
 */
export interface Constraint {
  /** Whether the version satisfies the constraint. */
  readonly allows: (version: Version) => boolean;
}

/** Longer texts are refused before any expression sees them. */
const MAX_CONSTRAINT = 256;

const NUMBER = String.raw`\d+|[xX*]`;
const WORDS = String.raw`[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*`;
const VERSION = String.raw`v?(?:${NUMBER})(?:\.(?:${NUMBER}))?(?:\.(?:${NUMBER}))?(?:-${WORDS})?(?:\+${WORDS})?`;
const OPERATOR = String.raw`!=|>=|=>|<=|=<|~>|[=<>~^]`;
const COMPARISON = String.raw`(?:(?:${OPERATOR})\s*)?${VERSION}`;

// Each space has one place: with two, a text of 80 commas would be tried in 2^80 ways.
const ALL_OF = new RegExp(String.raw`^\s*${COMPARISON}(?:(?:\s*,\s*|\s+)${COMPARISON})*\s*$`);
const EACH = new RegExp(String.raw`(?:(${OPERATOR})\s*)?(${VERSION})`, "g");
const RANGE = new RegExp(String.raw`(${VERSION})\s+-\s+(${VERSION})`, "g");
const PARTS = new RegExp(
  String.raw`^v?(${NUMBER})(?:\.(${NUMBER}))?(?:\.(${NUMBER}))?(?:-(${WORDS}))?(?:\+${WORDS})?$`,
);

/** Reads a constraint; undefined if the text is none. */
export function parseConstraint(text: string): Constraint | undefined {
  if (text.length > MAX_CONSTRAINT) return undefined;
  const alternatives = text.replaceAll(RANGE, " >=$1, <=$2 ").split("||").map(parseAll);
  if (alternatives.some((one) => one === undefined)) return undefined;
  return { allows: (version) => alternatives.some((allows) => allows?.(version) === true) };
}

type Allows = (version: Version) => boolean;

function parseAll(text: string): Allows | undefined {
  if (!ALL_OF.test(text)) return undefined;
  const comparisons: Allows[] = [];
  let admitsPrereleases = false;
  for (const [, operator = "", version = ""] of text.matchAll(EACH)) {
    const bound = parseBound(version);
    if (bound === undefined) return undefined;
    admitsPrereleases ||= bound.lowest.prerelease.length > 0;
    comparisons.push(comparison(operator, bound));
  }
  return (version) =>
    (admitsPrereleases || version.prerelease.length === 0) && comparisons.every((allows) => allows(version));
}

/** The version of a comparison, in which numbers can be missing. */
interface Bound {
  /** Zeros for what is missing. */
  readonly lowest: Version;
  /** The count of numbers that are there: `1.2` and `1.2.x` have two. */
  readonly numbers: number;
}

function parseBound(text: string): Bound | undefined {
  const [, major = "", minor = "", patch = "", pre] = PARTS.exec(text) ?? [];
  const parts = [major, minor, patch];
  const missing = parts.findIndex((part) => !/^\d+$/.test(part));
  const numbers = missing < 0 ? parts.length : missing;
  const filled = parts.map((part, at) => (at < numbers ? part : "0")).join(".");
  const lowest = parseVersion(pre === undefined ? filled : `${filled}-${pre}`);
  // The first version that such a bound does not stand for would have a number that is not exact.
  const isExact = lowest !== undefined && Math.max(lowest.major, lowest.minor, lowest.patch) < Number.MAX_SAFE_INTEGER;
  return isExact ? { lowest, numbers } : undefined;
}

function comparison(operator: string, bound: Bound): Allows {
  const { lowest, numbers } = bound;
  const { major, minor, patch } = lowest;
  switch (operator) {
    case ">":
      // Greater than all versions that the bound stands for.
      if (numbers === 1) return atLeast(first(major + 1));
      if (numbers === 2) return atLeast(first(major, minor + 1));
      return (version) => compareVersions(version, lowest) > 0;
    case ">=":
    case "=>":
      return atLeast(lowest);
    case "<":
      return below(lowest);
    case "<=":
    case "=<":
      if (numbers === 1) return below(first(major + 1));
      // `<=*` admits what `<=0.0` does.
      if (numbers !== 3) return below(first(major, minor + 1));
      return (version) => compareVersions(version, lowest) <= 0;
    case "~":
    case "~>":
      return sameAs(bound);
    case "^": {
      const from = atLeast(lowest);
      const to = below(endOfCaret(bound, major, minor, patch));
      return (version) => from(version) && to(version);
    }
    case "!=":
      return not(bound);
    default:
      return numbers === 3 ? (version) => compareVersions(version, lowest) === 0 : sameAs(bound);
  }
}

/** `~`: the numbers before the last one are equal. */
function sameAs({ lowest, numbers }: Bound): Allows {
  const { major, minor, patch } = lowest;
  const from = atLeast(lowest);
  // Masterminds/semver: `~0.0.0` admits what `~*` does.
  if (numbers === 0 || (numbers === 3 && major + minor + patch === 0)) return from;
  const to = below(numbers === 1 ? first(major + 1) : first(major, minor + 1));
  return (version) => from(version) && to(version);
}

function endOfCaret({ numbers }: Bound, major: number, minor: number, patch: number): Version {
  if (major > 0 || numbers === 1) return first(major + 1);
  if (minor > 0 || numbers === 2) return first(0, minor + 1);
  return first(0, 0, patch + 1);
}

function not({ lowest, numbers }: Bound): Allows {
  switch (numbers) {
    case 1:
      return ({ major }) => major !== lowest.major;
    case 2:
      return (version) =>
        version.major !== lowest.major ||
        version.minor !== lowest.minor ||
        compareVersions(version, atPatchOf(version)) !== 0;
    default:
      return (version) => compareVersions(version, lowest) !== 0;
  }

  /** Only the prereleases of these versions are compared: `!=1.2` admits 1.2.3-rc.1. */
  function atPatchOf(version: Version): Version {
    const end = lowest.prerelease.length === 0 ? "" : `-${lowest.prerelease.join(".")}`;
    return versionOf(`${version.major}.${version.minor}.${version.patch}${end}`);
  }
}

function atLeast(bound: Version): Allows {
  return (version) => compareVersions(version, bound) >= 0;
}

function below(bound: Version): Allows {
  return (version) => compareVersions(version, bound) < 0;
}

/** The first prerelease of a version, which is below all other versions of these numbers. */
function first(major: number, minor = 0, patch = 0): Version {
  return versionOf(`${major}.${minor}.${patch}-0`);
}

/** @param text - a version for sure */
function versionOf(text: string): Version {
  const version = parseVersion(text);
  if (version === undefined) throw new TypeError(`${text} is not a valid version`);
  return version;
}
