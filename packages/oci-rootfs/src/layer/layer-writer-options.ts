import type { Owner } from "./layer-files.ts";
import type { LayerLimits } from "./layer-limits.ts";
import type { LayerPaths } from "./layer-record.ts";
import type { LowerTree } from "./layer-tree.ts";

export interface LayerWriterOptions {
  /** The directory to create. It must not exist, and only this process may write to its parent. */
  root: string;
  limits: LayerLimits;
  owner: Owner | undefined;
  /**
   * The layers below, if the layer is unpacked for its position in one image. By default it is unpacked as on an
   * empty root, and the record contains the assumptions.
   */
  lower: LowerTree | undefined;
  /**
   * The paths that the layer deletes and hides, if it was read before. They also apply to entries that precede them
   * in the archive (OCI image-spec, "Whiteouts").
   */
  named: LayerPaths["named"] | undefined;
  /** Gives up on a layer with more entries, files and directories (see `isTooLarge`). Default: no limit. */
  maxNodes?: number | undefined;
}
