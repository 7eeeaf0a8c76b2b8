// Written by `xfn types examples/quickstart/definition.yaml`.
// Do not edit: run it again when the definitions change.

declare module "@xfn/functionio/sdk" {
  interface Kinds {
    "platform.example.org/v1alpha1/XDatabase": XDatabase;
  }
}

export interface XDatabase {
  apiVersion: "platform.example.org/v1alpha1";
  kind: "XDatabase";
  metadata: import("@xfn/functionio/sdk").ObjectMeta;
  spec: {
    /** Namespace of the application that uses the database. */
    namespace: string;
    /** Size of the storage, such as 20Gi. */
    storage: string;
    /** Three replicas instead of one. */
    highlyAvailable?: boolean;
    /** The applications that may connect, by their app.kubernetes.io/name label. */
    clients?: string[];
  };
  status?: {
    /** Host name of the database. */
    host?: string;
    /** Name of the Secret with the user and the password. */
    connectionSecret?: string;
  };
}
