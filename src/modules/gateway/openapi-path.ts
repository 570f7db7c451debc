/** The path of the OpenAPI document of the endpoints; no API may claim it. */
export const OPENAPI_PATH = "/openapi.json";
