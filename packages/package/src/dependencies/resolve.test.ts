import { describe, expect, test } from "vitest";
import type { Dependency } from "./dependency.ts";
import { dependencyStatus } from "./dependency-status.ts";
import type { LockedPackage } from "./lock.ts";
import { resolveDependencies } from "./resolve.ts";

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

function resolve(packages: LockedPackage[], tags: Record<string, string[]> = {}) {
  const known = new Map(Object.entries(tags).map(([name, of]) => [`r.example/acme/${name}`, of]));
  const { install, unlisted, problems } = resolveDependencies(packages, known);
  return {
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
