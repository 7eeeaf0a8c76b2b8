/** Progress of an image that is being prepared. */
export interface Progress {
  /** The image, as the caller named it. */
  readonly image: string;
  /** Digest of the packed layer. */
  readonly digest: string;
  /** From 0 at the bottom. */
  readonly layer: number;
  readonly layers: number;
  /** Packed bytes received so far. */
  readonly bytes: number;
  readonly totalBytes: number;
  /** Whether the bytes come from the store or a layout of this machine, so that the layer is only unpacked. */
  readonly local?: boolean;
  /** The last event of a layer is `done`, or `present` if there was nothing to do. */
  readonly state: "waiting" | "pulling" | "done" | "present";
}

export type OnProgress = (progress: Progress) => void;

/** Bytes between two events; more would not improve a progress bar. */
export const PROGRESS_STEP_BYTES: number = 256 * 1024;
