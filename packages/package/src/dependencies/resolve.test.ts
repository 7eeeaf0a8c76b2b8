import { describe, expect, test } from "vitest";
import type { Dependency } from "./dependency.ts";
import { dependencyStatus } from "./dependency-status.ts";
import type { LockedPackage } from "./lock.ts";
import { type KnownPackages, resolveDependencies, type VersionChanges } from "./resolve.ts";

const A = `sha256:${"a".repeat(64)}`;
const B = `sha256:${"b".repeat(64)}`;

const on = (name: string, constraint: string, kind: Dependency["kind"] = "Provider"): Dependency => ({
  kind,
  package: `r.example/acme/${name}`,
  constraint,
});

function locked(name: string, version: string, ...dependencies: Dependency[]): LockedPackage {
  return {
    kind: name.startsWith("c") ? "Configuration" : "Provider",
    name: `acme-${name}-0123456789ab`,
    source: `r.example/acme/${name}`,
    version,
    dependencies,
  };
}

function resolve(packages: LockedPackage[], tags: Record<string, string[]> = {}, more?: KnownPackages) {
  const known = new Map(Object.entries(tags).map(([name, of]) => [`r.example/acme/${name}`, of]));
  const { install, update, unlisted, problems } = resolveDependencies(packages, known, more);
  return {
    update: update.map((one) => `${one.name} ${one.package.replace("r.example/acme/", "")}`),
    install: install.map((one) => one.package.replace("r.example/acme/", "")),
    unlisted: unlisted.map((one) => one.replace("r.example/acme/", "")),
    problems: problems.map(({ code }) => code),
    messages: problems.map(({ message }) => message.replaceAll("r.example/acme/", "")),
  };
}

describe("what is missing", () => {
  test("is installed at the newest version that all packages want", () => {
    const packages = [locked("c1", "v1.0.0", on("p", ">=v1.0.0")), locked("c2", "v1.0.0", on("p", "<v2.0.0"))];
    const tags = { p: ["v2.0.0", "v1.2.0", "v1.10.0", "v1.11.0-rc.1", "latest", "v1", "v1.99"] };
    expect(resolve(packages, tags)).toMatchObject({ install: ["p:v1.10.0"], unlisted: [], problems: [] });
  });

  test("has the kind, the name and the reference of a package object", () => {
    const { install } = resolveDependencies(
      [locked("c", "v1.0.0", on("p", "*"))],
      new Map([["r.example/acme/p", ["v1.0.0"]]]),
    );
    expect(install).toEqual([
      {
        kind: "Provider",
        name: "acme-p",
        package: "r.example/acme/p:v1.0.0",
        source: "r.example/acme/p",
      },
    ]);
  });

  test("is asked for if its tags are not known", () => {
    const packages = [locked("c", "v1.0.0", on("q", "*"), on("p", "*"))];
    expect(resolve(packages, { q: ["v1.0.0"] })).toMatchObject({ install: ["q:v1.0.0"], unlisted: ["p"] });
  });

  test("is installed by digest without tags", () => {
    const packages = [locked("c1", "v1.0.0", on("p", A)), locked("c2", "v1.0.0", on("p", A))];
    expect(resolve(packages)).toMatchObject({ install: [`p@${A}`], unlisted: [], problems: [] });
  });

  test.each([
    ["two digests", [on("p", A)], [on("p", B)], "Conflict"],
    ["a digest and a constraint", [on("p", A)], [on("p", "*")], "Conflict"],
    ["constraints that exclude each other", [on("p", ">=v2.0.0")], [on("p", "<v2.0.0")], "Conflict"],
    ["two kinds", [on("p", "*")], [on("p", "*", "Function")], "Conflict"],
    ["a version that no tag has", [on("p", ">=v9.0.0")], [], "Missing"],
    ["an invalid constraint", [on("p", "latest")], [], "Invalid"],
  ])("is not installed for %s", (_, first, second, code) => {
    const packages = [locked("c1", "v1.0.0", ...first), locked("c2", "v1.0.0", ...second)];
    const { install, problems, messages } = resolve(packages, { p: ["v1.0.0", "v2.0.0"] });
    expect({ install, problems }).toEqual({ install: [], problems: [code] });
    expect(messages[0]).toMatch(/\bp\b.*\bc1\b/);
  });

  test("names who wants what, and the newest tag", () => {
    const wants = [locked("c1", "v1.0.0", on("p", ">=v2")), locked("c2", "v1.0.0", on("p", "<v2"))];
    expect(resolve(wants, { p: ["v1.0.0", "v2.0.0"] }).messages).toEqual([
      expect.stringMatching(/\bc1\b.*>=v2.*\bc2\b.*<v2/),
    ]);
    expect(resolve([locked("c", "v1.0.0", on("p", "^3"))], { p: ["v1.0.0"] }).messages).toEqual([
      expect.stringMatching(/\bc\b.*\^3.*v1\.0\.0/),
    ]);
    expect(resolve([locked("c", "v1.0.0", on("p", "^3"))], { p: ["latest"] }).messages).toEqual([
      expect.stringContaining("no tag that is a version"),
    ]);
  });

  test("is not installed twice under one name", () => {
    const other = { ...on("p", "*"), package: "other.example/acme/p" };
    const packages = [locked("c", "v1.0.0", on("p", "*"), other, on("q", "*"))];
    const tags = ["r.example/acme/p", "r.example/acme/q", "other.example/acme/p"].map(
      (one) => [one, ["v1.0.0"]] as const,
    );
    const { install, problems } = resolveDependencies(packages, new Map(tags));
    expect(install.map(({ name }) => name)).toEqual(["acme-q"]);
    expect(problems.map(({ code }) => code)).toEqual(["Conflict"]);
  });
});

describe("what is installed", () => {
  test("is left alone if all packages want it", () => {
    const packages = [locked("c", "v1.0.0", on("p", "^1")), locked("p", "v1.3.0")];
    expect(resolve(packages, { p: ["v1.9.0"] })).toMatchObject({ install: [], problems: [] });
    expect(resolve([locked("c", "v1.0.0", on("p", A)), locked("p", A)])).toMatchObject({ problems: [] });
  });

  test.each([
    ["another version", [on("p", "^2")], "v1.3.0", "Conflict"],
    ["a digest", [on("p", B)], A, "Conflict"],
    ["a digest where a tag is", [on("p", B)], "v1.0.0", "Conflict"],
    ["a version where a digest is", [on("p", "*")], A, "Invalid"],
    ["a version where a tag tells none", [on("p", "*")], "latest", "Invalid"],
    ["another kind", [on("p", "*", "Function")], "v1.0.0", "Conflict"],
    ["an invalid constraint", [on("p", "latest")], "v1.0.0", "Invalid"],
  ])("is a problem for a package that wants %s", (_, wants, version, code) => {
    expect(resolve([locked("c", "v1.0.0", ...wants), locked("p", version)])).toMatchObject({
      install: [],
      unlisted: [],
      problems: [code],
    });
  });

  test("is a problem if it is there twice", () => {
    const twin = { ...locked("p", "v1.0.0"), name: "twin" };
    const { problems, messages } = resolve([locked("c", "v1.0.0", on("p", "*")), locked("p", "v1.0.0"), twin]);
    expect(problems).toEqual(["Conflict"]);
    expect(messages[0]).toContain("acme-p-0123456789ab and twin");
  });

  test("can be replaced by a version that the message names", () => {
    const packages = [
      locked("c", "v1.0.0", on("p", ">=v1.2")),
      locked("d", "v1", on("p", "<v3")),
      locked("p", "v1.0.0"),
    ];
    expect(resolve(packages, { p: ["v1.0.0", "v2.1.0", "v3.0.0"] }).messages).toEqual([
      expect.stringMatching(
        /^p is installed at v1\.0\.0: c wants >=v1\.2; set spec\.package of that Provider to p:v2\.1\.0$/,
      ),
    ]);
  });
});

describe("what is installed, if it may change,", () => {
  const update = (changes: VersionChanges, wants: readonly string[], version: string, tags: string[]) => {
    const packages = wants.map((want, at) => locked(`c${at}`, "v1.0.0", on("p", want)));
    const objects = new Map([["r.example/acme/p", { kind: "Provider" as const, name: "cool", version }]]);
    return resolve([...packages, locked("p", version)], { p: tags }, { objects, changes });
  };
  const TAGS = ["v0.2.0", "v0.3.0", "v0.3.1", "v0.4.0", "v1", "latest"];

  test.each<[what: string, changes: VersionChanges, wants: string[], version: string, target: string]>([
    ["goes to the lowest version that all want", "upgrades", [">=v0.3.0", ">v0.2.0"], "v0.2.0", ":v0.3.0"],
    ["is upgraded although an older version fits", "downgrades", ["!=v0.3.1"], "v0.3.1", ":v0.4.0"],
    ["goes down to the highest version that all want", "downgrades", ["<=v0.4.0", "<v0.4.0"], "v0.4.0", ":v0.3.1"],
    ["goes to another digest", "upgrades", [B, B], A, `@${B}`],
    ["goes from a version to a digest", "upgrades", [B], "v0.3.0", `@${B}`],
  ])("%s", (_, changes, wants, version, target) => {
    expect(update(changes, wants, version, TAGS)).toMatchObject({ update: [`cool p${target}`], problems: [] });
  });

  test.each<[what: string, changes: VersionChanges, wants: string[], version: string, message: RegExp]>([
    ["not without leave", "none", [">=v0.3.0"], "v0.2.0", /^p is installed at v0\.2\.0/],
    ["no older version without leave", "upgrades", ["<v0.4.0"], "v0.4.0", /older.* spec\.package to p:v0\.3\.1/],
    ["no version that only some want", "downgrades", ["v0.2.0", "v0.3.0"], "v0.2.0", /no version of p is one that all/],
    ["no version that does not exist", "downgrades", ["^2"], "v0.2.0", /the newest is v0\.4\.0/],
    ["no digest that only some want", "downgrades", [A, B], A, /not all by the same/],
    ["no digest if others want a range", "downgrades", [B, "*"], A, /not all by the same/],
    ["no range in place of a digest", "downgrades", ["*"], A, /by its digest, which tells no version.*name a tag/],
    ["no range in place of a tag without a version", "downgrades", ["*"], "latest", /at the tag latest.*name a tag/],
  ])("gets %s", (_, changes, wants, version, message) => {
    const { update: updates, problems, messages } = update(changes, wants, version, TAGS);
    expect({ updates, problems }).toEqual({ updates: [], problems: [expect.any(String)] });
    expect(messages[0]).toMatch(message);
  });

  test("asks for tags only if a package wants another version", () => {
    const packages = [locked("c", "v1.0.0", on("p", "v2.0.0")), locked("p", "v1.0.0")];
    const at = (version: string) => ({
      objects: new Map([["r.example/acme/p", { kind: "Provider" as const, name: "p", version }]]),
      changes: "upgrades" as const,
    });
    expect(resolve(packages, {}, at("v1.0.0"))).toMatchObject({ unlisted: ["p"], update: [], problems: [] });
    // The object is newer than the Lock.
    expect(resolve(packages, {}, at("v2.0.0"))).toMatchObject({ unlisted: [], update: [], problems: [] });
  });

  test("does not count the wants of a package that is replaced itself", () => {
    // https://github.com/crossplane/crossplane: two Configurations whose dependencies share one.
    const state = (a: string, b: string, dep1: string, dep2: string, shared: string) => {
      const versions = { dep1, dep2, shared };
      const objects = new Map(
        Object.entries(versions).map(
          ([name, version]) => [`r.example/acme/${name}`, { kind: "Provider" as const, name, version }] as const,
        ),
      );
      const packages = [
        locked("c1", a, on("dep1", a)),
        locked("c2", b, on("dep2", b)),
        locked("dep1", dep1, on("shared", dep1)),
        locked("dep2", dep2, on("shared", dep2)),
        locked("shared", shared),
      ];
      const tags = { dep1: ["v1.0.0", "v2.0.0"], dep2: ["v1.0.0", "v2.0.0"], shared: ["v1.0.0", "v2.0.0"] };
      return resolve(packages, tags, { objects, changes: "upgrades" });
    };
    const [old, next] = ["v1.0.0", "v2.0.0"];
    expect(state(next, old, old, old, old)).toMatchObject({ update: [`dep1 dep1:${next}`], problems: [] });
    expect(state(next, old, next, old, old)).toMatchObject({ update: [], problems: ["Conflict"] });
    expect(state(next, next, next, old, old)).toMatchObject({
      update: [`dep2 dep2:${next}`, `shared shared:${next}`],
      problems: [],
    });
    expect(state(next, next, next, next, next)).toMatchObject({ update: [], problems: [] });
  });
});

describe("cycles", () => {
  test("are named by their path, and install nothing for their packages alone", () => {
    const packages = [
      locked("c1", "v1.0.0", on("c2", "*", "Configuration"), on("only", "*")),
      locked("c2", "v1.0.0", on("c3", "*", "Configuration")),
      locked("c3", "v1.0.0", on("c1", "*", "Configuration")),
      locked("c4", "v1.0.0", on("both", "*"), on("c1", "*", "Configuration")),
    ];
    const { install, problems, messages } = resolve(packages, { only: ["v1.0.0"], both: ["v1.0.0"] });
    expect({ install, problems }).toEqual({ install: ["both:v1.0.0"], problems: ["Cycle"] });
    expect(messages[0]).toContain("c1 -> c2 -> c3 -> c1");
  });

  test("can have one package", () => {
    expect(resolve([locked("c", "v1.0.0", on("c", "*", "Configuration"))]).messages).toEqual([
      expect.stringContaining("c -> c"),
    ]);
  });
});

describe("the status of a package", () => {
  const status = (packages: LockedPackage[], name = "c") => {
    const { problems, ...counts } = dependencyStatus(packages, `r.example/acme/${name}`);
    return { ...counts, problems: problems.map(({ code }) => code) };
  };

  test("counts what it needs, directly and not", () => {
    const packages = [
      locked("c", "v1.0.0", on("p", "*"), on("q", "*")),
      locked("p", "v1.0.0", on("r", "*")),
      locked("q", "v1.0.0", on("s", "*")),
      locked("r", "v1.0.0"),
    ];
    expect(status(packages)).toEqual({ found: 4, installed: 3, invalid: 0, problems: ["Missing"] });
    expect(status(packages, "p")).toEqual({ found: 1, installed: 1, invalid: 0, problems: [] });
    expect(status(packages, "r")).toEqual({ found: 0, installed: 0, invalid: 0, problems: [] });
  });

  test("has only its own conflicts", () => {
    const packages = [
      locked("c", "v1.0.0", on("p", "^2")),
      locked("d", "v1.0.0", on("p", "^1")),
      locked("p", "v1.0.0"),
    ];
    expect(status(packages)).toEqual({ found: 1, installed: 1, invalid: 1, problems: ["Conflict"] });
    expect(status(packages, "d")).toEqual({ found: 1, installed: 1, invalid: 0, problems: [] });
  });

  test("has its own cycle", () => {
    const packages = [
      locked("c", "v1.0.0", on("p", "*")),
      locked("p", "v1.0.0", on("c", "*", "Configuration")),
      locked("d", "v1.0.0", on("c", "*", "Configuration")),
    ];
    expect(status(packages)).toMatchObject({ found: 2, installed: 2, problems: ["Cycle"] });
    expect(status(packages, "d")).toMatchObject({ found: 2, installed: 2, problems: [] });
  });
});
