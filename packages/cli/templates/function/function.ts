import { compose, run } from "@xfn/functionio/sdk";
import type {} from "@xfn/kinds"; // checks the fields of Kubernetes' own kinds
import type { __KIND__ } from "./types.ts";

const fn = compose<__KIND__>(({ xr, desired }) => {
  for (const name of xr.spec.names) {
    desired.apply(`greeting-${name}`, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: `${xr.metadata.name}-${name}`, namespace: "default" },
      data: { text: `Hello, ${name}!` },
    });
  }
  desired.prune(({ name }) => name.startsWith("greeting-")); // names no longer in the list
  desired.composite.status({ count: xr.spec.names.length });
});

export default fn;
run(import.meta, fn); // only when this file is the program: node function.ts < io.json
