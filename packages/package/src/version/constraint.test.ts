import { readFileSync } from "node:fs";
import { Range } from "semver";
import { describe, expect, test } from "vitest";
import { parseConstraint } from "./constraint.ts";
import { parseVersion } from "./version.ts";

interface Vectors {
  readonly versions: readonly string[];
  /** As Go prints them; empty for an invalid version. */
  readonly printed: readonly string[];
  /** For each constraint, a digit for each version: whether it is allowed. */
  readonly constraints: Readonly<Record<string, string>>;
}

// Recorded from Masterminds/semver 3.5.0, the version in Crossplane 2.
const { versions, printed, constraints } = JSON.parse(
  readFileSync(new URL("../../testdata/constraints.json", import.meta.url), "utf8"),
) as Vectors;

const allowed = (constraint: string, version: string): boolean | undefined => {
  const parsed = parseVersion(version);
  return parsed && parseConstraint(constraint)?.allows(parsed);
};

test("versions are read as Go does", () => {
  const read = versions.map((version) => {
    const parsed = parseVersion(version);
    return parsed === undefined ? "" : parsed.format() + (parsed.build.length > 0 ? `+${parsed.build.join(".")}` : "");
  });
  expect(read).toEqual(printed);
});

describe("a constraint allows what it does in Go", () => {
  test.each(Object.entries(constraints))("%j", (text, expected) => {
    const constraint = parseConstraint(text);
    if (expected === "invalid") {
      expect(constraint).toBeUndefined();
      return;
    }
    const wrong = versions.filter((version, at) => (allowed(text, version) === true) !== (expected[at] === "1"));
    expect(constraint).toBeDefined();
    expect(wrong).toEqual([]);
  });
});

test("there are vectors", () => {
  expect(Object.keys(constraints).length).toBeGreaterThan(100);
  expect(Object.values(constraints).filter((expected) => expected.includes("1")).length).toBeGreaterThan(60);
});

describe("npm's ranges differ, so the library's are not used", () => {
  const npm = (range: string, version: string): boolean | "invalid" => {
    try {
      return new Range(range).test(version);
    } catch {
      return "invalid";
    }
  };

  test.each([
    ["a comma joins comparisons", ">=1.0, <2.0", "1.5.0", true, "invalid"],
    ["!= is an operator", "!=1.2.3", "1.2.4", true, "invalid"],
    ["=> and =< are operators", "=>1.2.3", "1.2.4", true, "invalid"],
    ["a prerelease opens the whole range to prereleases", ">=1.14.0-0", "1.20.0-rc.1", true, false],
    ["so does one of any comparison of the same alternative", ">=1.0.0 <2.0.0-0", "1.5.0-rc.1", true, false],
    ["an incomplete version can have a prerelease", ">=1.2-0", "1.2.0-alpha", true, "invalid"],
    ["~0.0.0 allows all versions", "~0.0.0", "4.0.0", true, false],
    ["^* allows only 0.0.0", "^*", "1.0.0", false, true],
    ["an empty text is not a constraint", "", "1.0.0", undefined, true],
  ])("%s: %s with %s", (_, constraint, version, ours, theirs) => {
    expect([allowed(constraint, version), npm(constraint, version)]).toEqual([ours, theirs]);
  });
});

test("a text of more than 256 characters is not a constraint", () => {
  expect(parseConstraint("1".padStart(256))).toBeDefined();
  expect(parseConstraint("1".padStart(257))).toBeUndefined();
});

test.each([
  "1 ".repeat(127),
  `${" ".repeat(250)}!`,
  `1${" ".repeat(250)}!`,
  `1-${"a.".repeat(120)}!`,
  `${"1 - 1 ".repeat(40)}!`,
  `${"1, ".repeat(84)}!`,
  `${"1,  ".repeat(62)}!`,
  `${">= 1 , ".repeat(36)}!`,
])("a hostile text takes no long backtracking: %j", (text) => {
  // Takes days with an expression that backtracks: this ends by the runner's limit.
  parseConstraint(text);
  expect(parseConstraint(`${text.slice(0, 255)}!`)).toBeUndefined();
});

test.each([
  "^9007199254740991.0.0",
  ">9007199254740991",
  "<=9007199254740991",
  "9007199254740991.x",
  "~0.9007199254740991.0",
  "^0.0.9007199254740991",
  ">=1.0.0, <9007199254740992.0.0",
])("a number that is too large for its successor is not a constraint: %j", (text) => {
  expect(parseConstraint(text)).toBeUndefined();
});
