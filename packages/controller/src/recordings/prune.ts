import { lstatSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** Bounds of recordings. */
export interface RecordingLimits {
  readonly perComposite: RecordingBounds;
  readonly total: RecordingBounds;
}

export interface RecordingBounds {
  readonly count: number;
  readonly bytes: number;
}

/** A recording in the folder. */
interface Kept {
  readonly path: string;
  readonly composite: string;
  /** Its time, then its number. */
  readonly order: readonly [time: string, run: number];
  readonly bytes: number;
}

/** The folders that `debugRecordings` makes. Nothing else is removed: the volume can have other files. */
const COMPOSITE = /^[a-z0-9-]{1,200}-[a-z0-9-]{1,80}$/;
const RUN = /^(\d{4}-\d\d-\d\dt[0-9-]{1,20}z)-(\d{1,15})$/;
const UNFINISHED = /^\.\d{4}-\d\d-\d\dt[0-9-]{1,20}z-\d{1,15}\.(new|old)-\w{6}$/;

/** Removes the oldest recordings until the others are within the limits, and those that a crash left unfinished. */
export function prune(folder: string, { perComposite, total }: RecordingLimits): void {
  const kept = foldersIn(folder, COMPOSITE).flatMap((composite) => recordingsOf(folder, composite));
  const newest = kept.toSorted((a, b) => compare(b, a));
  const excess = new Set<Kept>();
  for (const composite of new Set(newest.map((one) => one.composite)))
    for (const one of beyond(
      newest.filter((other) => other.composite === composite),
      perComposite,
    ))
      excess.add(one);
  for (const one of beyond(
    newest.filter((other) => !excess.has(other)),
    total,
  ))
    excess.add(one);
  for (const { path } of excess) rmSync(path, { recursive: true, force: true });
  for (const composite of foldersIn(folder, COMPOSITE)) {
    const path = join(folder, composite);
    if (readdirSync(path).length === 0) rmdirSync(path);
  }
}

function recordingsOf(folder: string, composite: string): Kept[] {
  const parent = join(folder, composite);
  for (const name of foldersIn(parent, UNFINISHED)) rmSync(join(parent, name), { recursive: true, force: true });
  return foldersIn(parent, RUN).map((name) => {
    const [, time = "", run = ""] = RUN.exec(name) ?? [];
    const path = join(parent, name);
    const bytes = readdirSync(path).reduce((sum, file) => sum + lstatSync(join(path, file)).size, 0);
    return { path, composite, order: [time, Number(run)], bytes };
  });
}

/** The recordings after those that fit. The newest one always stays. */
function beyond(newest: readonly Kept[], { count, bytes }: RecordingBounds): readonly Kept[] {
  let sum = 0;
  const fits = newest.findIndex((one, index) => (sum += one.bytes) > bytes && index > 0);
  return newest.slice(Math.min(fits === -1 ? newest.length : fits, count));
}

function compare({ order: a }: Kept, { order: b }: Kept): number {
  if (a[0] !== b[0]) return a[0] < b[0] ? -1 : 1;
  return a[1] - b[1];
}

function foldersIn(folder: string, names: RegExp): string[] {
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory() && names.test(entry.name)).map(({ name }) => name);
}
