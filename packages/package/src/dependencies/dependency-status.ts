import { DependencyError } from "../errors/dependency-error.ts";
import type { LockedPackage } from "./lock.ts";
import { cycleErrors, installedProblems } from "./resolve.ts";
import { describeWants, wantsOf } from "./wants.ts";

/** The dependencies of a package revision, as its status reports them. */
export interface DependencyStatus {
  /** The packages that it needs, and those that they need. */
  readonly found: number;
  readonly installed: number;
  /** Number of direct dependencies whose version or kind does not match. */
  readonly invalid: number;
  /** Why the revision cannot be healthy. */
  readonly problems: readonly DependencyError[];
}

/** The state of a package's dependencies. */
export function dependencyStatus(packages: readonly LockedPackage[], source: string): DependencyStatus {
  const bySource = Map.groupBy(packages, (one) => one.source);
  const wants = wantsOf(packages);
  const found = new Set<string>();
  const next = [source];
  for (let at = next.pop(); at !== undefined; at = next.pop()) {
    for (const one of bySource.get(at) ?? []) {
      for (const { package: needed } of one.dependencies) {
        if (!found.has(needed) && needed !== source) next.push(needed);
        found.add(needed);
      }
    }
  }
  const missing = [...found].filter((one) => !bySource.has(one)).toSorted();
  const absent = missing.map((one) => {
    const wanted = (wants.get(one) ?? []).filter(({ by }) => by.source === source || found.has(by.source));
    return new DependencyError("Missing", `${one} is not installed: ${describeWants(wanted)}`, {
      package: one,
      packages: wanted.map(({ by }) => by.source),
      remedy: "wait for it, or look at the conditions of the Lock",
    });
  });
  const own = (bySource.get(source) ?? []).flatMap(({ dependencies }) => dependencies.map((one) => one.package));
  const unfit = [...new Set(own)].toSorted().flatMap((one) => {
    const mine = (wants.get(one) ?? []).filter(({ by }) => by.source === source);
    return installedProblems(bySource.get(one) ?? [], mine, undefined);
  });
  const cycles = cycleErrors(packages).filter((cycle) => cycle.packages.includes(source));
  return {
    found: found.size,
    installed: found.size - missing.length,
    invalid: unfit.length,
    problems: [...cycles, ...absent, ...unfit],
  };
}
