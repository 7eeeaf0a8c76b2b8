import type { Flags } from "./parse-format.ts";

/** The flags and sizes of the current directive. */
export interface Style extends Flags {
  width: number | undefined;
  precision: number | undefined;
}

/** No flags, no sizes. */
export const PLAIN: Style = {
  minus: false,
  plus: false,
  sharp: false,
  space: false,
  zero: false,
  sharpV: false,
  width: undefined,
  precision: undefined,
};
