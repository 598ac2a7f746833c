// Nothing here says under which licence.
int x;
