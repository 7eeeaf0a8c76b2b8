import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** Of each half of the space for young objects. At 1 MB, as V8 begins, a burst of XRs is copied by the collector several times. */
export const YOUNG_SPACE_BYTES: number = 4 * 1024 * 1024;

// Some 3 MB in all are enough; whatever V8 makes of it, this ends.
const MAX_ROUNDS = 400;
const OBJECTS_PER_ROUND = 500;

/**
 * Lets the space for young objects grow to {@link YOUNG_SPACE_BYTES}, and no further: left to itself V8 would go to 48 MB, which
 * it keeps for ever. There is no flag for it that counts after the start, so the space is filled, with growing allowed meanwhile.
 */
export function growYoungSpace(): void {
  const filling: object[] = [];
  setFlagsFromString("--semi-space-growth-factor=2");
  for (let round = 0; round < MAX_ROUNDS && youngSpaceBytes() < YOUNG_SPACE_BYTES; round++) {
    for (let index = 0; index < OBJECTS_PER_ROUND; index++) filling.push({ round, index });
  }
  setFlagsFromString("--semi-space-growth-factor=1");
}

/** How large it is now. */
export function youngSpaceBytes(): number {
  return getHeapSpaceStatistics().find(({ space_name }) => space_name === "new_space")?.space_size ?? Infinity;
}
