module reaper

go 1.26.0
