import { digestOf } from "./digest.ts";

/**
 * The ChainIDs of the layers. The lowest layer gets one that differs from its DiffID, for its unpacking on an empty
 * root.
 */
export function chainIds(diffIds: readonly string[]): string[] {
  let below = "";
  return diffIds.map((diffId, i) => {
    below = i === 0 ? diffId : chain(below, diffId);
    return i === 0 ? chain("", diffId) : below;
  });
}

/** The ChainID of a layer, which identifies it together with all layers below (OCI image-spec, "Layer ChainID"). */
function chain(below: string, diffId: string): string {
  return digestOf(`${below} ${diffId}`);
}
