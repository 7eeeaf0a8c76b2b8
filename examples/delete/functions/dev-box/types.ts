// Written by `xfn types examples/delete/definition.yaml`.
// Do not edit: run it again when the definitions change.

declare module "@xfn/functionio/sdk" {
  interface Kinds {
    "platform.example.org/v1alpha1/XDevBox": XDevBox;
  }
}

export interface XDevBox {
  apiVersion: "platform.example.org/v1alpha1";
  kind: "XDevBox";
  metadata: import("@xfn/functionio/sdk").ObjectMeta;
  spec: {
    namespace: string;
    image: string;
    /** Whether the machine runs. Its disk exists in any case. */
    running: boolean;
  };
}
