// Written by `xfn types examples/testing/definition.yaml`.
// Do not edit: run it again when the definitions change.

declare module "@xfn/functionio/sdk" {
  interface Kinds {
    "platform.example.org/v1alpha1/XSQLDatabase": XSQLDatabase;
  }
}

export interface XSQLDatabase {
  apiVersion: "platform.example.org/v1alpha1";
  kind: "XSQLDatabase";
  metadata: import("@xfn/functionio/sdk").ObjectMeta;
  spec: {
    region: "EU" | "US";
    /** Default: 50. */
    storageGB?: number;
    /** The addresses that may connect. */
    allow?: {
      name: string;
      from: string;
      /** Last address of a range. */
      to?: string;
    }[];
  };
  status?: {
    host?: string;
  };
}
