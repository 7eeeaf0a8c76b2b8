import { formatPath, type JsonPath } from "@xfn/json";
import type { ParsedDocument } from "@xfn/json/document";
import type { PackageErrorCode } from "../errors/package-error.ts";

/** One thing that is wrong with a package. */
export interface PackageFault {
  readonly code: PackageErrorCode;
  /** The document at fault; undefined if the package as a whole is wrong. */
  readonly document?: ParsedDocument | undefined;
  /** The field at fault; empty for the whole document. */
  readonly path: JsonPath;
  /** A sentence about the field or the document, without its name. */
  readonly problem: string;
  /** Advice to the author of the package. */
  readonly remedy: string;
}

/** The fault as one line: `FILE:LINE:COLUMN: FIELD PROBLEM`. */
export function faultLine({ document, path, problem }: PackageFault): string {
  const position = document?.positionOf(path) ?? document?.positionOf([]);
  const place = [document?.source, position?.line, position?.column].filter((part) => part !== undefined);
  return [place.length === 0 ? "" : `${place.join(":")}:`, formatPath(path), problem]
    .filter((part) => part !== "")
    .join(" ");
}
