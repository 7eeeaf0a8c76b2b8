/** Limits of one layer, or of all layers of an image. Every known legitimate image is within the defaults. */
export interface LayerLimits {
  /** Bytes of the unpacked archive. Default 32 GiB: machine-learning layers reach 10 GiB. */
  maxBytes: number;
  /**
   * Unpacked bytes per packed byte, once more than `ratioGraceBytes` are unpacked. Default 256: text reaches 20, and a
   * gzip bomb 1,032.
   */
  maxRatio: number;
  /** The ratio is not limited below this size, because preallocated files of zeros are legitimate. Default 256 MiB. */
  ratioGraceBytes: number;
  /**
   * Files, directories and links, including directories that paths imply. Default 500,000, to bound the inodes used.
   */
  maxEntries: number;
  /**
   * Directories that only paths imply, without an entry of their own. Default 50,000. Otherwise 2,000 small entries
   * could imply 500,000 directories.
   */
  maxImpliedDirectories: number;
  /** Bytes of the paths of all files and directories. Default 64 MiB, for 500,000 paths of 134 bytes. */
  maxAllPathBytes: number;
  /** Components of a path. Default 256; a path also must fit the kernel's PATH_MAX with the store before it. */
  maxDepth: number;
  /** Bytes of a path. Default 3,072, which leaves 1,024 of PATH_MAX to the store. */
  maxPathBytes: number;
  /** Bytes of one component. Default 255, the kernel's NAME_MAX. */
  maxNameBytes: number;
  /** Layers of an image. Default 256: Docker makes 127 at most, and overlayfs takes 500. */
  maxLayers: number;
  /** As `maxEntries`, of all layers of an image together. Default 2,000,000. */
  maxImageEntries: number;
  /** As `maxAllPathBytes`, of all layers of an image together. Default 256 MiB. */
  maxImagePathBytes: number;
  /** Unpacked bytes of all layers of an image together. Default 128 GiB. */
  maxImageBytes: number;
}

export const DEFAULT_LAYER_LIMITS: Readonly<LayerLimits> = {
  maxBytes: 32 * 1024 ** 3,
  maxRatio: 256,
  ratioGraceBytes: 256 * 1024 ** 2,
  maxEntries: 500_000,
  maxImpliedDirectories: 50_000,
  maxAllPathBytes: 64 * 1024 ** 2,
  maxDepth: 256,
  maxPathBytes: 3072,
  maxNameBytes: 255,
  maxLayers: 256,
  maxImageEntries: 2_000_000,
  maxImagePathBytes: 256 * 1024 ** 2,
  maxImageBytes: 128 * 1024 ** 3,
};

/** Symbolic links to follow while resolving one path, as in the kernel (path_resolution(7)). */
export const MAX_LINKS_FOLLOWED = 40;

/**
 * Names to look up while resolving one path. Symbolic links can expand a path of two names to 80,000, for each of
 * 500,000 entries.
 */
export const MAX_STEPS_PER_PATH = 1024;
