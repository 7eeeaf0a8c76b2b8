/** For each package, by source, the packages that it needs. */
export type Needs = ReadonlyMap<string, readonly string[]>;

/**
 * Finds cycles, each as the path from a package back to it, without the package itself at the end. Each package that is
 * in a cycle is in one of the result.
 */
export function cyclesIn(needs: Needs): string[][] {
  const left = withoutEnds(needs);
  const covered = new Set<string>();
  const cycles: string[][] = [];
  for (const source of [...left.keys()].toSorted()) {
    if (covered.has(source)) continue;
    const cycle = shortestCycle(source, left);
    if (cycle === undefined) continue;
    cycles.push(cycle);
    for (const one of cycle) covered.add(one);
  }
  return cycles;
}

/** Removes packages that need nothing, until none is left: what remains is in a cycle, or leads to one. */
function withoutEnds(needs: Needs): Needs {
  const open = new Map([...needs].map(([source, needed]) => [source, needed.filter((one) => needs.has(one)).length]));
  const neededBy = new Map<string, string[]>();
  for (const [source, needed] of needs) {
    for (const one of needed) neededBy.set(one, [...(neededBy.get(one) ?? []), source]);
  }
  const ends = [...open].filter(([, count]) => count === 0).map(([source]) => source);
  for (let end = ends.pop(); end !== undefined; end = ends.pop()) {
    open.delete(end);
    for (const source of neededBy.get(end) ?? []) {
      const count = (open.get(source) ?? 0) - 1;
      if (!open.has(source)) continue;
      open.set(source, count);
      if (count === 0) ends.push(source);
    }
  }
  return new Map([...needs].filter(([source]) => open.has(source)));
}

function shortestCycle(start: string, needs: Needs): string[] | undefined {
  const from = new Map<string, string>();
  let layer = [start];
  while (layer.length > 0) {
    const next: string[] = [];
    for (const source of layer) {
      for (const needed of (needs.get(source) ?? []).toSorted()) {
        if (needed === start) return pathTo(source, from, start);
        if (from.has(needed) || !needs.has(needed)) continue;
        from.set(needed, source);
        next.push(needed);
      }
    }
    layer = next;
  }
  return undefined;
}

function pathTo(end: string, from: ReadonlyMap<string, string>, start: string): string[] {
  const path = [end];
  for (let at = end; at !== start; ) {
    at = from.get(at) ?? start;
    path.unshift(at);
  }
  return path;
}
