/** What is going on while an image is made ready; meant for progress bars. */
export interface Progress {
  /** The image as the caller named it. */
  readonly image: string;
  /** Digest of the packed layer. */
  readonly digest: string;
  /** From 0 at the bottom. */
  readonly layer: number;
  readonly layers: number;
  /** Packed bytes received so far; they are unpacked as they come. */
  readonly bytes: number;
  readonly totalBytes: number;
  /** The last event of a layer; `present` means that nothing had to be done. */
  readonly state: "waiting" | "pulling" | "done" | "present";
}

export type OnProgress = (progress: Progress) => void;

/** A progress bar gains nothing from more. */
export const PROGRESS_STEP_BYTES: number = 256 * 1024;
