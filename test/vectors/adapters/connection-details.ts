import { extractConnectionDetails } from "@xfn/composition";
import type { ConnectionDetail } from "@xfn/functionio";
import type { JsonObject } from "@xfn/json";
import type { Adapter } from "../adapter.ts";

/** Connection details of one composed resource, for a template or for a function. */
export const connectionDetails: Adapter = {
  run: (vector) =>
    Object.fromEntries(
      extractConnectionDetails({
        details: vector["connectionDetails"] as unknown as ConnectionDetail[],
        resource: vector["resource"] as JsonObject,
        secret: new Map(Object.entries((vector["secret"] ?? {}) as Record<string, string>)),
      }),
    ),
};
