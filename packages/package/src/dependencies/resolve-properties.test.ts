import fc from "fast-check";
import { compare } from "semver";
import { expect, test } from "vitest";
import { parseConstraint } from "../version/constraint.ts";
import { parseVersion } from "../version/version.ts";
import { cyclesIn } from "./cycles.ts";
import type { Dependency } from "./dependency.ts";
import { dependencyStatus } from "./dependency-status.ts";
import type { LockedPackage } from "./lock.ts";
import { resolveDependencies } from "./resolve.ts";

/** A registry: for each source, what each of its versions depends on. */
type Registry = ReadonlyMap<string, ReadonlyMap<string, readonly Dependency[]>>;

const SOURCES = ["a", "b", "c", "d", "e", "f"].map((name) => `r.example/${name}`);
const constraint = fc.constantFrom("*", ">=v1.0.0", "^1", "~1.1", ">=1.1.0-0", "<2", "!=1.1.0", "v2.0.0", "^3 || <1.1");
const version = fc.constantFrom(
  "v1.0.0",
  "v1.1.0",
  "v1.1.1",
  "v1.2.0-rc.1",
  "v2.0.0",
  "v2.1.0",
  "v3.0.0",
  "latest",
  "v1",
);

const dependencies = (targets: readonly string[]): fc.Arbitrary<Dependency[]> =>
  targets.length === 0
    ? fc.constant([])
    : fc.uniqueArray(
        fc.record({ kind: fc.constant("Provider" as const), package: fc.constantFrom(...targets), constraint }),
        { maxLength: 3, selector: (one) => one.package },
      );

/** @param targets - what a source can depend on */
const registry = (targets: (at: number) => readonly string[]): fc.Arbitrary<Registry> =>
  fc
    .tuple(
      ...SOURCES.map((source, at) =>
        fc
          .uniqueArray(fc.tuple(version, dependencies(targets(at))), { minLength: 1, selector: ([tag]) => tag })
          .map((versions) => [source, new Map(versions)] as const),
      ),
    )
    .map((entries) => new Map(entries));

const later = (at: number): readonly string[] => SOURCES.slice(at + 1);

function locked(source: string, tag: string, of: Registry): LockedPackage {
  const wanted = of.get(source)?.get(tag) ?? [];
  return { kind: "Provider", name: source.replaceAll(/[./]/g, "-"), source, version: tag, dependencies: wanted };
}

/** Installs what the resolver says until it says no more. */
function settle(roots: readonly string[], of: Registry): { packages: LockedPackage[]; rounds: number } {
  const tags = new Map([...of].map(([source, versions]) => [source, [...versions.keys()]]));
  const packages = roots.map((source) => locked(source, [...(of.get(source)?.keys() ?? [])][0] ?? "", of));
  for (let rounds = 0; ; rounds++) {
    const { install } = resolveDependencies(packages, tags);
    if (install.length === 0 || rounds > 20) return { packages, rounds };
    for (const one of install) packages.push(locked(one.source, one.package.slice(one.source.length + 1), of));
  }
}

const roots = fc.uniqueArray(fc.constantFrom(...SOURCES), { minLength: 1, maxLength: 2 });

const allows = (text: string, tag: string): boolean => {
  const parsed = parseVersion(tag);
  return parsed !== undefined && parseConstraint(text)?.allows(parsed) === true;
};

test("ends, and leaves only packages that fit or a problem that names them", () => {
  fc.assert(
    fc.property(registry(later), roots, (of, from) => {
      const { packages, rounds } = settle(from, of);
      expect(rounds).toBeLessThanOrEqual(SOURCES.length);
      const { problems, install, unlisted } = resolveDependencies(
        packages,
        new Map([...of].map(([source, versions]) => [source, [...versions.keys()]])),
      );
      expect({ install, unlisted }).toEqual({ install: [], unlisted: [] });
      const named = new Set(problems.map((problem) => problem.package));
      for (const by of packages) {
        for (const { package: source, constraint: text } of by.dependencies) {
          const present = packages.find((one) => one.source === source);
          const fits = present !== undefined && allows(text, present.version);
          if (!fits) expect(named).toContain(source);
        }
      }
      // And no problem without a reason.
      for (const problem of problems) {
        const wants = packages.flatMap((by) => by.dependencies.filter((one) => one.package === problem.package));
        const present = packages.find((one) => one.source === problem.package);
        expect(present !== undefined && wants.every((want) => allows(want.constraint, present.version))).toBe(false);
      }
    }),
  );
});

test("chooses a version that all want, and no older one", () => {
  fc.assert(
    fc.property(registry(later), roots, (of, from) => {
      const tags = new Map([...of].map(([source, versions]) => [source, [...versions.keys()]]));
      const packages = from.map((source) => locked(source, "v1.0.0", of));
      for (const { source, package: reference } of resolveDependencies(packages, tags).install) {
        const chosen = reference.slice(source.length + 1);
        const wants = packages.flatMap((by) => by.dependencies.filter((one) => one.package === source));
        const fitting = (tags.get(source) ?? []).filter(
          (tag) => /^v\d+\.\d+\.\d+/.test(tag) && wants.every((want) => allows(want.constraint, tag)),
        );
        expect(fitting).toContain(chosen);
        const best = parseVersion(chosen);
        for (const tag of fitting) {
          const other = parseVersion(tag);
          if (best === undefined || other === undefined) throw new Error("no version");
          expect(compare(other.version, best.version)).toBeLessThanOrEqual(0);
        }
      }
    }),
  );
});

test("updates end, and leave only packages that fit, or a problem", () => {
  fc.assert(
    fc.property(registry(later), fc.tuple(...SOURCES.map(() => version)), (of, versions) => {
      const tags = new Map([...of].map(([source, found]) => [source, [...found.keys()]]));
      let packages = SOURCES.map((source, at) => locked(source, versions[at] ?? "", of));
      const resolve = () => {
        const objects = new Map(packages.map((one) => [one.source, { ...one, kind: "Provider" as const }]));
        return resolveDependencies(packages, tags, { objects, changes: "downgrades" });
      };
      let { update, problems } = resolve();
      for (let rounds = 0; update.length > 0; rounds++) {
        expect(rounds).toBeLessThanOrEqual(SOURCES.length);
        for (const { source, package: reference } of update)
          packages = packages.map((one) =>
            one.source === source ? locked(source, reference.slice(source.length + 1), of) : one,
          );
        ({ update, problems } = resolve());
      }
      const unmet = packages.flatMap((by) =>
        by.dependencies.filter(({ package: source, constraint: text }) => {
          const present = packages.find((one) => one.source === source);
          return present === undefined || !allows(text, present.version);
        }),
      );
      expect(problems.length > 0).toBe(unmet.length > 0);
    }),
  );
});

test("does not depend on the order of packages, dependencies and tags", () => {
  fc.assert(
    fc.property(
      registry(() => SOURCES),
      fc.uniqueArray(fc.constantFrom(...SOURCES), { minLength: 1 }),
      (of, from) => {
        const tags = new Map([...of].map(([source, versions]) => [source, [...versions.keys()]]));
        const turned = new Map([...tags].toReversed().map(([source, list]) => [source, list.toReversed()]));
        const packages = from.map((source) => locked(source, "v1.0.0", of));
        const reversed = packages.toReversed().map((one) => ({ ...one, dependencies: one.dependencies.toReversed() }));
        const outcome = (list: readonly LockedPackage[], known: typeof tags) => {
          const { install, unlisted, problems } = resolveDependencies(list, known);
          return { install, unlisted, problems: problems.map(({ code, package: source }) => [code, source]) };
        };
        expect(outcome(reversed, turned)).toEqual(outcome(packages, tags));
      },
    ),
  );
});

const graph = fc
  .array(fc.tuple(fc.constantFrom(...SOURCES), fc.constantFrom(...SOURCES)), { maxLength: 14 })
  .map((edges) => {
    const needs = new Map(SOURCES.map((source) => [source, [] as string[]]));
    for (const [from, to] of edges) needs.get(from)?.push(to);
    return needs;
  });

test("names cycles that exist, and each package of one", () => {
  fc.assert(
    fc.property(graph, (needs) => {
      const cycles = cyclesIn(needs);
      for (const cycle of cycles) {
        cycle.forEach((source, at) => expect(needs.get(source)).toContain(cycle[(at + 1) % cycle.length]));
        expect(new Set(cycle).size).toBe(cycle.length);
      }
      const reaches = (from: string, to: string): boolean => {
        const seen = new Set<string>();
        const next = [...(needs.get(from) ?? [])];
        for (let at = next.pop(); at !== undefined; at = next.pop()) {
          if (at === to) return true;
          if (!seen.has(at)) next.push(...(needs.get(at) ?? []));
          seen.add(at);
        }
        return false;
      };
      expect(new Set(cycles.flat())).toEqual(new Set(SOURCES.filter((source) => reaches(source, source))));
    }),
  );
});

test("a chain of 5,000 packages overflows no stack", () => {
  const chain = Array.from(
    { length: 5000 },
    (_, at): LockedPackage => ({
      kind: "Provider",
      name: `p${at}`,
      source: `r.example/p${at}`,
      version: "v1.0.0",
      dependencies: [{ kind: "Provider", package: `r.example/p${(at + 1) % 5000}`, constraint: "*" }],
    }),
  );
  expect(resolveDependencies(chain, new Map()).problems.map(({ code }) => code)).toEqual(["Cycle"]);
  expect(resolveDependencies(chain.slice(0, -1), new Map()).unlisted).toEqual(["r.example/p4999"]);
  expect(dependencyStatus(chain.slice(0, -1), "r.example/p0")).toMatchObject({ found: 4999, installed: 4998 });
});
