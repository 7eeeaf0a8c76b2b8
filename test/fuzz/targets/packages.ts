import assert from "node:assert/strict";
import type { JsonObject } from "@xfn/json";
import { readDocuments } from "@xfn/json/document";
import {
  checkPackage,
  dependencyStatus,
  faultLine,
  isPackageName,
  parseConstraint,
  parseVersion,
  readLock,
  resolveDependencies,
} from "@xfn/package";
import fc from "fast-check";
import { text } from "../generators.ts";
import { mutatedText, mutatedValue } from "../mutate.ts";
import { type Target, target } from "../target.ts";

const VERSIONS = ["0.0.0", "1.2.3", "v1.2.3-rc.1", "2.0.0-0", "10.20.30+x"].map(parseVersion);

/** Constraints on versions. An alternative only adds versions. */
export const constraint: Target = target({
  input: fc.oneof(
    mutatedText([">=1.2.3, <2.0.0-0 || ^3", "1.0 - 2.0", "~>1.x", "!=1.2", "=> v1.14.0-0", "^0.0.3", "*"]),
    fc
      .tuple(fc.constantFrom("1 ", " - ", "1,  ", " , 1", "||", ">= ", "-a.", "x"), fc.nat(300))
      .map(([part, n]) => part.repeat(n)),
    text,
  ),
  run: (input) => {
    const parsed = parseConstraint(input);
    const wider = parseConstraint(`${input} || ^1`);
    for (const version of VERSIONS) {
      assert.ok(version);
      if (parsed?.allows(version) === true) assert.ok(wider === undefined || wider.allows(version));
    }
  },
});

const PACKAGES = [
  'apiVersion: meta.pkg.crossplane.io/v1\nkind: Configuration\nmetadata: {name: mine}\nspec:\n  crossplane: {version: ">=v1.14.0-0"}\n  dependsOn:\n  - {provider: a.example/b, version: "^1"}\n  - {apiVersion: pkg.crossplane.io/v1, kind: Function, package: a.example/c, version: "*"}\n---\napiVersion: apiextensions.crossplane.io/v1\nkind: Composition\nmetadata: {name: c}\n',
  "apiVersion: meta.pkg.crossplane.io/v1beta1\nkind: Function\nmetadata: {name: f}\n---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.b}\n",
];

/** The documents of a package: it has what callers rely on, or faults that can be printed. */
export const packageContents: Target = target({
  input: mutatedText(PACKAGES),
  run: (input) => {
    const checked = checkPackage(readDocuments(input, { source: "package.yaml" }));
    if ("faults" in checked) {
      assert.ok(checked.faults.length > 0);
      for (const fault of checked.faults) assert.ok(faultLine(fault).length > 0);
      return;
    }
    assert.ok(isPackageName(checked.name));
    for (const { package: source, constraint: wanted } of checked.dependencies) {
      assert.match(source, /^[^/@]+\/[^@]+$/);
      assert.ok(wanted.startsWith("sha") || parseConstraint(wanted));
    }
  },
});

const entry = (name: string, version: string, ...dependencies: JsonObject[]): JsonObject => ({
  kind: "Provider",
  name,
  source: `r.example/${name}`,
  version,
  dependencies,
});
const on = (name: string, constraints: string): JsonObject => ({
  kind: "Provider",
  package: `r.example/${name}`,
  constraints,
});

const LOCKS: JsonObject[] = [
  { packages: [entry("a", "v1.0.0", on("b", "^1"), on("c", "*")), entry("b", "v1.2.0", on("c", "<2"))] },
  { packages: [entry("a", "v1", on("b", "*")), entry("b", `sha256:${"a".repeat(64)}`, on("a", "latest"))] },
];
const TAGS = new Map(["a", "b", "c"].map((name) => [`r.example/${name}`, ["v1.0.0", "v2.0.0", "latest"]]));

/** Locks that a user has changed. */
export const lock: Target = target<JsonObject>({
  input: mutatedValue(LOCKS),
  run: ({ packages }) => {
    const read = readLock(packages);
    const { install, problems } = resolveDependencies(read, TAGS);
    for (const one of install) assert.ok(read.every(({ source }) => source !== one.source));
    for (const { code, message } of problems) assert.ok(code.length > 0 && message.length > 0);
    for (const { source } of read) {
      const { found, installed } = dependencyStatus(read, source);
      assert.ok(installed <= found);
    }
  },
});
