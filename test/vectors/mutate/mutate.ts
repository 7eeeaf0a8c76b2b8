import { readdirSync } from "node:fs";
import { join } from "node:path";
import { type Random, random, shuffled } from "../../sweep/random.ts";
import { isVectorFile, readVectorFile, type VectorCase, vectorFileKind } from "../vector-file.ts";
import type { Mutation } from "./mutation.ts";
import { NAMES } from "./names.ts";
import { SPELLINGS } from "./spelling.ts";
import { TEMPLATES } from "./templates.ts";
import { VALUES } from "./values.ts";

/** All mutations. */
export const MUTATIONS: readonly Mutation[] = [...SPELLINGS, ...NAMES, ...TEMPLATES, ...VALUES];

/** A case that mutations derived from a recorded one. */
export interface MutatedCase {
  file: string;
  /** Its name lists the mutations. */
  vector: VectorCase;
}

/** More than this many attempts find no mutation that applies: the folder has no cases for the mutations. */
const MAX_ATTEMPTS = 10_000;
const MAX_MUTATIONS = 4;

/** The cases of a folder, by kind of file. */
export function readCases(folder: string): { file: string; cases: VectorCase[] }[] {
  const names = readdirSync(folder).filter(isVectorFile).toSorted();
  return names.map((name) => ({ file: vectorFileKind(name), cases: readVectorFile(join(folder, name)) }));
}

/** Derives `count` cases from recorded ones. The same seed gives the same cases. */
export function* mutatedCases(
  files: readonly { file: string; cases: readonly VectorCase[] }[],
  { count, seed, mutations = MUTATIONS }: { count: number; seed: number; mutations?: readonly Mutation[] },
): Generator<MutatedCase> {
  const next = random(seed);
  for (let made = 0, attempts = 0; made < count && attempts < MAX_ATTEMPTS; ) {
    // All files alike: one has more cases than all others.
    const { file, cases } = files[Math.floor(next() * files.length)] ?? { file: "", cases: [] };
    const vector = cases[Math.floor(next() * cases.length)];
    const mutated = vector && mutate(file, vector, mutations, next);
    attempts = mutated === undefined ? attempts + 1 : 0;
    if (mutated === undefined) continue;
    made++;
    yield { file, vector: mutated };
  }
}

function mutate(file: string, vector: VectorCase, all: readonly Mutation[], next: Random): VectorCase | undefined {
  const usable = all.filter(({ files }) => files?.includes(file) !== false);
  const names: string[] = [];
  let mutated = vector;
  for (const mutation of shuffled(usable, next).slice(0, 1 + Math.floor(next() * MAX_MUTATIONS))) {
    const changed = mutation.apply(mutated, next);
    if (changed === undefined) continue;
    mutated = changed;
    names.push(mutation.name);
  }
  return names.length === 0 ? undefined : { ...mutated, name: `${vector.name} (${names.join("; ")})` };
}
