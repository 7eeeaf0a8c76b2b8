import { SEMVER, type Type } from "../values/type.ts";
import { Extension, Failure } from "../values/value.ts";
import type { Define } from "./define.ts";

const FORM =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-((?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$/;

const MAX_NUMBER = 2n ** 64n;

/** A semantic version in an expression. */
class Version extends Extension {
  readonly type: Type = SEMVER;
  readonly numbers: readonly bigint[];
  readonly prerelease: readonly string[];

  constructor(numbers: readonly bigint[], prerelease: readonly string[]) {
    super();
    this.numbers = numbers;
    this.prerelease = prerelease;
  }

  equals(other: Extension): boolean {
    return other instanceof Version && compare(this, other) === 0;
  }

  static parse(text: string): Version | undefined {
    const [whole, major = "", minor = "", patch = "", prerelease = ""] = FORM.exec(text) ?? [];
    if (whole === undefined) return undefined;
    const numbers = [major, minor, patch].map(BigInt);
    const parts = prerelease === "" ? [] : prerelease.split(".");
    const all = [...numbers, ...parts.filter((part) => /^\d+$/.test(part)).map(BigInt)];
    return all.every((number) => number < MAX_NUMBER) ? new Version(numbers, parts) : undefined;
  }
}

/** The library of semantic versions: https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-semver-library */
export function defineVersions(define: Define): void {
  const parse = (text: string, lenient = false): Version | undefined =>
    Version.parse(lenient ? normalized(text) : text);
  const version = (text: string, lenient?: boolean): Version | Failure =>
    parse(text, lenient) ?? new Failure("not a semantic version");
  define("semver", "(string) Semver", version);
  define("semver", "(string, bool) Semver", version);
  define("isSemver", "(string) bool", (text: string) => parse(text) !== undefined);
  define("isSemver", "(string, bool) bool", (text: string, lenient: boolean) => parse(text, lenient) !== undefined);
  define("isGreaterThan", "Semver.(Semver) bool", (a: Version, b: Version) => compare(a, b) > 0);
  define("isLessThan", "Semver.(Semver) bool", (a: Version, b: Version) => compare(a, b) < 0);
  define("compareTo", "Semver.(Semver) int", (a: Version, b: Version) => BigInt(compare(a, b)));
  for (const [index, name] of ["major", "minor", "patch"].entries()) {
    define(name, "Semver.() int", ({ numbers }: Version) => BigInt.asIntN(64, numbers[index] ?? 0n));
  }
}

/** Completes a short version, and drops a leading `v` and leading zeros. */
function normalized(text: string): string {
  const [major = "", minor, ...rest] = text.replace(/^v/, "").split(".");
  const parts = [major, ...(minor === undefined ? [] : [minor]), ...(rest.length === 0 ? [] : [rest.join(".")])];
  const short = parts.map((part) => part.replace(/^0+(?=\d)/, ""));
  // A short version has neither a prerelease nor build metadata.
  if (short.length < 3 && /[-+]/.test(short.at(-1) ?? "")) return "";
  return [...short, "0", "0"].slice(0, 3).join(".");
}

function compare(a: Version, b: Version): number {
  for (const [index, number] of a.numbers.entries()) {
    const other = b.numbers[index] ?? 0n;
    if (number !== other) return number < other ? -1 : 1;
  }
  if (a.prerelease.length === 0 || b.prerelease.length === 0) {
    return Math.sign(b.prerelease.length - a.prerelease.length);
  }
  for (const [index, part] of a.prerelease.entries()) {
    const other = b.prerelease[index];
    if (other === undefined) return 1;
    const order = comparePart(part, other);
    if (order !== 0) return order;
  }
  return a.prerelease.length < b.prerelease.length ? -1 : 0;
}

/** Numbers come before words. */
function comparePart(a: string, b: string): number {
  const [left, right] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (left && right) return BigInt(a) === BigInt(b) ? 0 : BigInt(a) < BigInt(b) ? -1 : 1;
  if (left !== right) return left ? -1 : 1;
  return a === b ? 0 : a < b ? -1 : 1;
}
